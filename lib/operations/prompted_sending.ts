/** Sending on a host that runs only during requests: after requests and in cycles. */
import type { Clock } from "../kit/platform.ts";
import { retryDelay, type Sender, type SendTimes } from "./send_loop.ts";

/** Sends on demand. */
export interface PromptedSending {
  /** Returns the reason why sending fails now; null if it does not. */
  problem(): string | null;
  /** Sends the due items up to the first that fails, which is left for a later call with those after it; never rejects. */
  send(): Promise<void>;
}

/**
 * Creates a sender whose calls run one at a time; waiting calls share a run. With `backsOff` each failure
 * lengthens the pause; without it only the receiver can request one.
 */
export function createPromptedSending<T>(
  { clock }: { clock: Pick<Clock, "now"> },
  { problem, attempt, sendNext, storeFailed }: Sender<T>,
  times: SendTimes,
  backsOff = false,
): PromptedSending {
  /** Nothing is sent before this time. */
  let pausedUntil = -Infinity;
  let failures = 0;

  const deliver = async (item: T): Promise<boolean> => {
    const failed = await attempt(item);
    if (!failed) failures = 0;
    // The factor 1 leaves the pause as it is; a long-running sender shortens it by a random one.
    else if (backsOff) pausedUntil = clock.now() + retryDelay(failed, failures++, times, () => 1);
    else if (failed.retryAfterMs !== undefined)
      pausedUntil = clock.now() + Math.min(failed.retryAfterMs, times.longestPause);
    return !failed;
  };
  const sendAll = async (): Promise<void> => {
    if (clock.now() < pausedUntil) return;
    try {
      while (await sendNext(deliver));
    } catch (error) {
      storeFailed(error);
    }
  };

  let current: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return {
    problem,
    send() {
      next ??= current.then(() => {
        next = undefined;
        return (current = sendAll());
      });
      return next;
    },
  };
}
