/** Notifications, one after the other and in order, for as long as the process lives. They never stand in a request's way. */
import { createCommitSignal } from "../kit/commit_signal.ts";
import type { OperationsDeps } from "./deps.ts";
import type { Notification } from "./notify/notification.ts";
import { NOTIFY_TIMES, type NotifyOptions, sending } from "./notify/sending.ts";

/** Notifications under way. */
export interface Notifier {
  /** Why they do not get through at present; `null` when they do. */
  problem(): string | null;
  /** Ends it; what is being sent is cut off, and sent again after the next start. */
  stop(): Promise<void>;
}

/** Begins with what happens from now on, or, after a restart, with what was not delivered before. */
export function startNotifier(deps: OperationsDeps, options: NotifyOptions & { random?: () => number }): Notifier {
  const { times = NOTIFY_TIMES, random = Math.random } = options;
  const { commits = createCommitSignal() } = deps;
  const ended = new AbortController();
  const never = createCommitSignal();
  const { problem, attempt, sendNext, storeFailed } = sending(deps, options, ended.signal);

  const pause = (ms: number): Promise<unknown> => never.wait(0, ms, ended.signal);

  /** Resolves when the receiver has it, or when everything ends: false. */
  const deliver = async (notification: Notification): Promise<boolean> => {
    for (let failures = 0; !ended.signal.aborted; failures++) {
      const failed = await attempt(notification);
      if (!failed) return true;
      if (ended.signal.aborted) return false;
      const doubled = Math.min(times.longestRetry, times.firstRetry * 2 ** Math.min(failures, 30));
      await pause(Math.max(random() * doubled, Math.min(failed.after ?? 0, times.longestPause)));
    }
    return false;
  };

  const run = async (): Promise<void> => {
    while (!ended.signal.aborted && !commits.closed) {
      const { count } = commits;
      let failed = false;
      try {
        if (await sendNext(deliver)) continue;
      } catch (error) {
        failed = true;
        storeFailed(error);
        await pause(times.firstRetry);
      }
      // Whatever failed is tried again; else there is nothing to send until somebody commits.
      while (!(await commits.wait(count, times.poll, ended.signal)) && !failed);
    }
  };
  const running = run();

  return {
    problem,
    async stop() {
      ended.abort();
      await running;
    },
  };
}
