/**
 * Sends notifications for all hosts. The cursor is in the store, so that a restart continues where it stopped: each notification
 * arrives at least once, with an id that identifies repeated deliveries.
 */
import { findTrace } from "../../audit/entry_traces.ts";
import { newTrace, type Trace } from "../../kit/trace.ts";
import { parseWebhookKey } from "../../kit/webhook_signature.ts";
import type { OperationsDeps } from "../deps.ts";
import {
  type EventCursor,
  readPresentCursor,
  readEventsSince,
  resumeCursor,
  type StreamEvent,
} from "../event_cursor.ts";
import { SEND_TIMES, type SendTimes } from "../send_loop.ts";
import { buildNotification } from "../notifications.ts";
import type { NotifyFormat } from "./format.ts";
import type { Notification } from "./notification.ts";
import { type FailedAttempt, post } from "./post.ts";

declare module "../../store/store.ts" {
  interface Meta {
    notify: EventCursor;
  }
}

/** Address and format of the notifications. Only the format `json` is signed, with the secret. */
export interface NotifyOptions {
  url: string;
  format?: NotifyFormat;
  secret?: string | undefined;
  times?: SendTimes;
  fetch?: typeof fetch;
}

/** A notification with the trace of its cause. */
interface TracedNotification {
  notification: Notification;
  trace: Trace | undefined;
}

const BATCH_SIZE = 50;
const NO_STORE = "the store cannot be used";

/** Creates the sender of notifications. */
export function createNotificationSender(deps: OperationsDeps, options: NotifyOptions, stopped: AbortSignal) {
  const { url, format = "json", secret, times = SEND_TIMES, fetch: send = fetch } = options;
  const { store, clock, log } = deps;
  const receiver = { url, format, key: secret === undefined ? undefined : parseWebhookKey(secret) };
  let problem: string | null = null;
  /** The cursor that could not be stored after a delivery. It is stored before anything else is sent. */
  let unstoredCursor: EventCursor | undefined;

  const storeCursor = async (cursor: EventCursor): Promise<void> => {
    unstoredCursor = cursor;
    await store.transact((tx) => tx.put("meta", "notify", cursor));
    unstoredCursor = undefined;
  };

  /** Reads the stored cursor and the present one, which is stored at the first call. */
  const readCursors = async (): Promise<{ stored: EventCursor; present: EventCursor }> => {
    const stored = (await store.get("meta", "notify"))?.value;
    const present = await readPresentCursor(store);
    if (!stored) await storeCursor(present);
    return { stored: stored ?? present, present };
  };

  return {
    problem: () => problem,
    begin: async () => void (await readCursors()),

    /** Tries once to deliver a notification; resolves with undefined if it was accepted, otherwise with the failure. */
    async attempt({ notification, trace }: TracedNotification): Promise<FailedAttempt | undefined> {
      const { id } = notification;
      const failed = await post(receiver, notification, {
        send,
        timeout: times.timeout,
        stopped,
        now: clock.now(),
        trace,
      });
      const failure = failed?.failure ?? null;
      if (stopped.aborted) return failed;
      if (failure === null && problem !== null) log.info("notifications get through again", { id });
      if (failure !== null && failure !== problem)
        log.warn("a notification did not get through; it is tried again", { id, failure });
      problem = failure;
      return failed;
    },

    /** Delivers the next events and stores the cursor after each; false if there are none, or one was not delivered. */
    async sendNext(deliver: (traced: TracedNotification) => Promise<boolean>): Promise<boolean> {
      if (unstoredCursor) await storeCursor(unstoredCursor);
      const { stored, present } = await readCursors();
      const events = await readEventsSince(store, resumeCursor(present, stored), BATCH_SIZE);
      const isEmpty = events.every(({ type }) => type === "tick");
      // The reads above prove that the store can be used; with nothing to send, no delivery fails either.
      if (isEmpty || problem === NO_STORE) problem = null;
      if (isEmpty) return false;
      for (const event of events) {
        const notification = await buildNotification(deps, event);
        if (!notification) continue;
        if (!(await deliver({ notification, trace: findEventTrace(deps, event) }))) return false;
        await storeCursor(event.cursor);
      }
      await storeCursor(events.at(-1)!.cursor);
      return true;
    },

    /** Reports a failure of the store. */
    storeFailed(error: unknown): void {
      if (problem === null) log.warn("notifications wait for the store", { error: String(error) });
      problem = NO_STORE;
    },
  };
}

/** Returns the trace of an entry if this process appended it. Activity rows come from cycles, for which a new trace starts. */
const findEventTrace = ({ integrity }: OperationsDeps, event: StreamEvent): Trace | undefined =>
  event.type === "audit" ? findTrace(integrity, event.data) : newTrace();
