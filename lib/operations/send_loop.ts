/** Sends items one after the other and in order, for as long as the process lives. They never stand in a request's way. */
import { type CommitSignal, createCommitSignal } from "../kit/commit_signal.ts";
import type { FailedAttempt } from "./notify/post.ts";

/** Times in milliseconds. */
export interface SendTimes {
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
  /** Tries once to hand an item over; resolves with nothing when it was taken. */
  attempt(item: T): Promise<FailedAttempt | undefined>;
  /** Hands the next items to `deliver` and moves the cursor over what it has delivered; false when there is no more to do. */
  sendNext(deliver: (item: T) => Promise<boolean>): Promise<boolean>;
  /** Notes that the store failed it. */
  storeFailed(error: unknown): void;
}

/** Sending under way. */
export interface Sending {
  /** Why nothing gets through at present; `null` when it does. */
  problem(): string | null;
  /** Ends it; what is being sent is cut off, and sent again after the next start. */
  stop(): Promise<void>;
}

/** The wait after so many failures: chance shortens it, and the receiver's own wish lengthens it. */
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

  /** Resolves when the receiver has it, or when everything ends: false. */
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
      // A failure is tried again; else there is nothing to send until somebody commits.
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
