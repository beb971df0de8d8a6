/** Sends items in order, one at a time, in a long-running process, without delaying requests. */
import { type CommitSignal, createCommitSignal } from "../kit/commit_signal.ts";
import type { FailedAttempt } from "./notify/post.ts";

/** Times in milliseconds. */
export interface SendTimes {
  /** Time limit for an answer of the receiver. */
  timeout: number;
  /** The first and the longest pause after a failure. Each failure doubles the pause; a random factor shortens it. */
  firstRetry: number;
  longestRetry: number;
  /** Maximum pause that a receiver may request. */
  longestPause: number;
  /** Interval of checks for commits of other processes. */
  poll: number;
}

export const SEND_TIMES: SendTimes = {
  timeout: 10_000,
  firstRetry: 1_000,
  longestRetry: 300_000,
  longestPause: 3_600_000,
  poll: 5_000,
};

/** Sends the items after a cursor, which is in the store. */
export interface Sender<T> {
  /** Returns the reason why sending fails now; null if it does not. */
  problem(): string | null;
  /** Tries once to deliver an item; resolves with undefined when it was accepted. */
  attempt(item: T): Promise<FailedAttempt | undefined>;
  /** Delivers the next items and moves the cursor over them; false if there are none, or one was not delivered. */
  sendNext(deliver: (item: T) => Promise<boolean>): Promise<boolean>;
  /** Called when the store failed. */
  storeFailed(error: unknown): void;
}

/** A running sender. */
export interface Sending {
  /** Returns the reason why sending fails now; null if it does not. */
  problem(): string | null;
  /** Stops sending; the current item is aborted, and sent again after the next start. */
  stop(): Promise<void>;
}

/** Returns the pause after a number of failures: randomly shortened, but at least the pause that the receiver requests. */
export function retryDelay(failed: FailedAttempt, failures: number, times: SendTimes, random: () => number): number {
  // The exponent is limited, so that the product stays finite.
  const doubled = Math.min(times.longestRetry, times.firstRetry * 2 ** Math.min(failures, 30));
  return Math.max(random() * doubled, Math.min(failed.retryAfterMs ?? 0, times.longestPause));
}

/** Starts sending after the cursor. */
export function startSending<T>(
  { commits = createCommitSignal() }: { commits?: CommitSignal | undefined },
  createSender: (stopped: AbortSignal) => Sender<T>,
  { times, random = Math.random }: { times: SendTimes; random?: (() => number) | undefined },
): Sending {
  const stopped = new AbortController();
  // Nothing commits to this signal: a wait for it is a pause that `stopped` can end.
  const timer = createCommitSignal();
  const { problem, attempt, sendNext, storeFailed } = createSender(stopped.signal);

  const pause = (ms: number): Promise<unknown> => timer.wait(0, ms, stopped.signal);

  /** Resolves with true when the item was accepted, and with false when sending was stopped. */
  const deliver = async (item: T): Promise<boolean> => {
    for (let failures = 0; !stopped.signal.aborted; failures++) {
      const failed = await attempt(item);
      if (!failed) return true;
      if (stopped.signal.aborted) return false;
      await pause(retryDelay(failed, failures, times, random));
    }
    return false;
  };

  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted && !commits.closed) {
      const { count } = commits;
      let failed = false;
      try {
        if (await sendNext(deliver)) continue;
      } catch (error) {
        failed = true;
        storeFailed(error);
        await pause(times.firstRetry);
      }
      // Waits for the next commit; after a failure one interval at most, since the unsent items need no new commit.
      while (!(await commits.wait(count, times.poll, stopped.signal)) && !failed);
    }
  };
  const running = run();

  return {
    problem,
    async stop() {
      stopped.abort();
      await running;
    },
  };
}
