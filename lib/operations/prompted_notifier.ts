/** Notifications of a host that runs only when it is called: they are sent after its requests and with its cycles. */
import type { OperationsDeps } from "./deps.ts";
import type { Notification } from "./notify/notification.ts";
import { NOTIFY_TIMES, type NotifyOptions, sending } from "./notify/sending.ts";

/** What sends when it is told to. */
export interface PromptedNotifier {
  /** Why they do not get through at present; `null` when they do. */
  problem(): string | null;
  /** Sends what is due, each once; never rejects. What fails is left for the next call, which is to come soon. */
  send(): Promise<void>;
  /** On a store that has told nobody anything yet: what happens from now on is told. */
  begin(): Promise<void>;
}

/** Sends when it is told to, one call after the other; two that wait are one. */
export function promptedNotifier(deps: OperationsDeps, options: NotifyOptions): PromptedNotifier {
  const { times = NOTIFY_TIMES } = options;
  const { problem, attempt, begin, sendNext, storeFailed } = sending(deps, options, new AbortController().signal);
  /** The receiver asked to be left alone until then. */
  let pausedUntil = -Infinity;

  const deliver = async (notification: Notification): Promise<boolean> => {
    const failed = await attempt(notification);
    if (failed?.after !== undefined) pausedUntil = deps.clock.now() + Math.min(failed.after, times.longestPause);
    return !failed;
  };
  const sendAll = async (): Promise<void> => {
    if (deps.clock.now() < pausedUntil) return;
    try {
      while (await sendNext(deliver));
    } catch (error) {
      storeFailed(error);
    }
  };

  let underWay: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return {
    problem,
    begin,
    send() {
      next ??= underWay.then(() => {
        next = undefined;
        return (underWay = sendAll());
      });
      return next;
    },
  };
}
