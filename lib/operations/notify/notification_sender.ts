/**
 * Parts that all senders share. The cursor is in the store, so that a restart continues where it stopped: each
 * notification arrives at least once, and carries an id by which a second arrival is known.
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

/** Address and format; JSON is signed with the secret. */
export interface NotifyOptions {
  url: string;
  format?: NotifyFormat;
  secret?: string | undefined;
  times?: SendTimes;
  fetch?: typeof fetch;
}

/** A notification, with the trace of what caused it. */
interface TracedNotification {
  notification: Notification;
  trace: Trace | undefined;
}

const BATCH = 50;
const NO_STORE = "the store cannot be used";

/** Returns the cursor, one attempt at a notification, and the next step. */
export function createNotificationSender(deps: OperationsDeps, options: NotifyOptions, ended: AbortSignal) {
  const { url, format = "json", secret, times = SEND_TIMES, fetch: send = fetch } = options;
  const { store, clock, log } = deps;
  const receiver = { url, format, key: secret === undefined ? undefined : parseWebhookKey(secret) };
  let problem: string | null = null;
  /** Delivered and not kept yet. A store that takes no writes must not have it sent over and over. */
  let unstored: EventCursor | undefined;

  const storeCursor = async (cursor: EventCursor): Promise<void> => {
    unstored = cursor;
    await store.transact((tx) => tx.put("meta", "notify", cursor));
    unstored = undefined;
  };

  /** Reads the stored cursor and the present one; the very first time it begins at the present. */
  const readCursors = async (): Promise<{ stored: EventCursor; present: EventCursor }> => {
    const stored = (await store.get("meta", "notify"))?.value;
    const present = await readPresentCursor(store);
    if (!stored) await storeCursor(present);
    return { stored: stored ?? present, present };
  };

  return {
    problem: () => problem,
    begin: async () => void (await readCursors()),

    /** Tries once to hand it over; resolves with nothing when it was taken, with why not otherwise. */
    async attempt({ notification, trace }: TracedNotification): Promise<FailedAttempt | undefined> {
      const { id } = notification;
      const failed = await post(receiver, notification, {
        send,
        timeout: times.timeout,
        ended,
        now: clock.now(),
        trace,
      });
      const failure = failed?.failure ?? null;
      if (ended.aborted) return failed;
      if (failure === null && problem !== null) log.info("notifications get through again", { id });
      if (failure !== null && failure !== problem)
        log.warn("a notification did not get through; it is tried again", { id, failure });
      problem = failure;
      return failed;
    },

    /**
     * Hands the next events to `deliver` and keeps the cursor after each that it has delivered; false when there is no more to
     * do.
     */
    async sendNext(deliver: (sent: TracedNotification) => Promise<boolean>): Promise<boolean> {
      if (unstored) await storeCursor(unstored);
      const { stored, present } = await readCursors();
      const events = await readEventsSince(store, resumeCursor(present, stored), BATCH);
      const isEmpty = events.every(({ type }) => type === "tick");
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

    /** Tells that the store failed it. */
    storeFailed(error: unknown): void {
      if (problem === null) log.warn("notifications wait for the store", { error: String(error) });
      problem = NO_STORE;
    },
  };
}

/** A row is left by a cycle, which has a trace of its own; the trace of an entry is known to the process that appended it. */
const findEventTrace = ({ integrity }: OperationsDeps, event: StreamEvent): Trace | undefined =>
  event.type === "audit" ? findTrace(integrity, event.data) : newTrace();
