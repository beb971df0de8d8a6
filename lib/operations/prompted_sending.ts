/** Sending on a host that runs only when it is called: after its requests and with its cycles. */
import type { Clock } from "../kit/platform.ts";
import { retryDelay, type Sender, type SendTimes } from "./send_loop.ts";

/** Sends on demand. */
export interface PromptedSending {
  /** Why nothing gets through at present; `null` when it does. */
  problem(): string | null;
  /** Sends what is due, each once; never rejects. What fails is left for a later call. */
  send(): Promise<void>;
}

/** Sends on demand, one call after the other; two that wait are one. `backsOff`: failures lengthen the pause. */
export function createPromptedSending<T>(
  { clock }: { clock: Pick<Clock, "now"> },
  { problem, attempt, sendNext, storeFailed }: Sender<T>,
  times: SendTimes,
  backsOff = false,
): PromptedSending {
  /** The receiver is left alone until then. */
  let pausedUntil = -Infinity;
  let failures = 0;

  const deliver = async (item: T): Promise<boolean> => {
    const failed = await attempt(item);
    if (!failed) failures = 0;
    else if (backsOff) pausedUntil = clock.now() + retryDelay(failed, failures++, times, () => 1);
    else if (failed.after !== undefined) pausedUntil = clock.now() + Math.min(failed.after, times.longestPause);
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
