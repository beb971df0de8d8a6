/** Sends items in order, one at a time, for as long as the process lives, without delaying requests. */
import { type CommitSignal, createCommitSignal } from "../kit/commit_signal.ts";
import type { FailedAttempt } from "./notify/post.ts";

/** Times in milliseconds. */
export interface SendTimes {
  /** How long a receiver may take to answer. */
  timeout: number;
  /** The first and the longest pause after a failure. Each failure doubles the pause; a random factor shortens it. */
  firstRetry: number;
  longestRetry: number;
  /** Maximum pause that a receiver may request. */
  longestPause: number;
  /** Interval at which commits of other processes are looked for. */
  poll: number;
}

export const SEND_TIMES: SendTimes = {
  timeout: 10_000,
  firstRetry: 1_000,
  longestRetry: 300_000,
  longestPause: 3_600_000,
  poll: 5_000,
};

/** Sends what follows its cursor, which is in the store. */
export interface Sender<T> {
  /** Why nothing gets through at present; `null` when it does. */
  problem(): string | null;
  /** Tries once to deliver an item; resolves with undefined when it was accepted. */
  attempt(item: T): Promise<FailedAttempt | undefined>;
  /** Hands the next items to `deliver` and moves the cursor over what it has delivered; false when there is no more to do. */
  sendNext(deliver: (item: T) => Promise<boolean>): Promise<boolean>;
  /** Called when the store failed. */
  storeFailed(error: unknown): void;
}

/** Sending under way. */
export interface Sending {
  /** Why nothing gets through at present; `null` when it does. */
  problem(): string | null;
  /** Ends it; what is being sent is cut off, and sent again after the next start. */
  stop(): Promise<void>;
}

/** Returns the pause after a number of failures: randomly shortened, but at least the pause that the receiver requests. */
export function retryDelay(failed: FailedAttempt, failures: number, times: SendTimes, random: () => number): number {
  const doubled = Math.min(times.longestRetry, times.firstRetry * 2 ** Math.min(failures, 30));
  return Math.max(random() * doubled, Math.min(failed.after ?? 0, times.longestPause));
}

/** Begins where the cursor is. */
export function startSending<T>(
  { commits = createCommitSignal() }: { commits?: CommitSignal | undefined },
  makeSender: (ended: AbortSignal) => Sender<T>,
  { times, random = Math.random }: { times: SendTimes; random?: (() => number) | undefined },
): Sending {
  const ended = new AbortController();
  const never = createCommitSignal();
  const { problem, attempt, sendNext, storeFailed } = makeSender(ended.signal);

  const pause = (ms: number): Promise<unknown> => never.wait(0, ms, ended.signal);

  /** Resolves with true when the receiver has the item, and with false when sending was stopped. */
  const deliver = async (item: T): Promise<boolean> => {
    for (let failures = 0; !ended.signal.aborted; failures++) {
      const failed = await attempt(item);
      if (!failed) return true;
      if (ended.signal.aborted) return false;
      await pause(retryDelay(failed, failures, times, random));
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
      // After a failure try again; otherwise there is nothing to send until the next commit.
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
