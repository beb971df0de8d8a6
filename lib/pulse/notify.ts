/**
 * Notifications, one after the other and in order. Where it stands is kept in the store, so that a restart goes on where
 * it stopped: each notification arrives at least once, and carries an id by which a second arrival is known. It never stands
 * in a request's way.
 */
import type { PulseDeps } from "./deps.ts";
import { createCommitSignal } from "../kit/commit_signal.ts";
import { type EventCursor, eventsAfter, type GivenCursor, presentCursor, resumed } from "./event_cursor.ts";
import { notificationOf } from "./notifications.ts";
import type { NotifyFormat } from "./notify/format.ts";
import type { Notification } from "./notify/notification.ts";
import { post } from "./notify/post.ts";
import { keyOf } from "../kit/webhook_signature.ts";

declare module "../store/store.ts" {
  interface Meta {
    notify: GivenCursor;
  }
}

/** Times in milliseconds. */
export interface NotifyTimes {
  /** How long a receiver may take to answer. */
  timeout: number;
  /** The wait after the first failure, and the longest one; each failure doubles it, and chance shortens it. */
  firstRetry: number;
  longestRetry: number;
  /** No receiver is left alone for longer than this, whatever it asks for. */
  longestPause: number;
  /** A store that other processes write to is looked at this often. */
  poll: number;
}

export const NOTIFY_TIMES: NotifyTimes = {
  timeout: 10_000,
  firstRetry: 1_000,
  longestRetry: 300_000,
  longestPause: 3_600_000,
  poll: 5_000,
};

/** Where to send and how; JSON is signed with the secret. */
export interface NotifyOptions {
  url: string;
  format?: NotifyFormat;
  secret?: string | undefined;
  times?: NotifyTimes;
  random?: () => number;
  fetch?: typeof fetch;
}

/** Notifications under way. */
export interface Notifier {
  /** Why they do not get through at present; `null` when they do. */
  problem(): string | null;
  /** Ends it; what is being sent is cut off, and sent again after the next start. */
  stop(): Promise<void>;
}

const BATCH = 50;

/** Begins with what happens from now on, or, after a restart, with what was not delivered before. */
export function startNotifier(deps: PulseDeps, options: NotifyOptions): Notifier {
  const { url, format = "json", secret, times = NOTIFY_TIMES, random = Math.random, fetch: send = fetch } = options;
  const { store, clock, log, commits = createCommitSignal() } = deps;
  const receiver = { url, format, key: secret === undefined ? undefined : keyOf(secret) };
  const ended = new AbortController();
  const never = createCommitSignal();
  let problem: string | null = null;
  /** Delivered and not kept yet. A store that takes no writes must not have it sent over and over. */
  let unkept: EventCursor | undefined;

  const pause = (ms: number): Promise<void> => never.wait(0, ms, ended.signal);

  const keep = async (cursor: EventCursor): Promise<void> => {
    unkept = cursor;
    await store.transact((tx) => tx.put("meta", "notify", cursor));
    unkept = undefined;
  };

  /** Resolves when the receiver has it, or when everything ends: false. */
  const deliver = async (notification: Notification): Promise<boolean> => {
    const { id } = notification;
    for (let failures = 0; !ended.signal.aborted; failures++) {
      const attempt = { send, timeout: times.timeout, ended: ended.signal, now: clock.now() };
      const failed = await post(receiver, notification, attempt);
      const failure = failed?.failure ?? null;
      if (ended.signal.aborted) return failure === null;
      if (failure === null && problem !== null) log.info("notifications get through again", { id });
      if (failure !== null && failure !== problem)
        log.warn("a notification did not get through; it is tried again", { id, failure });
      problem = failure;
      if (!failed) return true;
      const doubled = Math.min(times.longestRetry, times.firstRetry * 2 ** Math.min(failures, 30));
      await pause(Math.max(random() * doubled, Math.min(failed.after ?? 0, times.longestPause)));
    }
    return false;
  };

  /** Delivers the next events and keeps the cursor after each notification; false when there was nothing to do. */
  const sendNext = async (): Promise<boolean> => {
    if (unkept) await keep(unkept);
    const kept = (await store.get("meta", "notify"))?.value;
    const present = await presentCursor(store);
    if (!kept) await keep(present);
    const events = await eventsAfter(store, resumed(present, kept ?? present), BATCH);
    problem = null;
    if (events.every(({ type }) => type === "tick")) return false;
    for (const event of events) {
      const notification = await notificationOf(deps, event);
      if (!notification) continue;
      if (!(await deliver(notification))) return false;
      await keep(event.cursor);
    }
    await keep(events.at(-1)!.cursor);
    return true;
  };

  const run = async (): Promise<void> => {
    while (!ended.signal.aborted && !commits.closed) {
      const { count } = commits;
      try {
        if (await sendNext()) continue;
      } catch (error) {
        if (problem === null) log.warn("notifications wait for the store", { error: String(error) });
        problem = "the store cannot be used";
        await pause(times.firstRetry);
      }
      await commits.wait(count, times.poll, ended.signal);
    }
  };
  const running = run();

  return {
    problem: () => problem,
    async stop() {
      ended.abort();
      await running;
    },
  };
}
