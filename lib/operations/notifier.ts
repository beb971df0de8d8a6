/** Sends notifications in order, in a long-running process. */
import type { OperationsDeps } from "./deps.ts";
import { startSending, SEND_TIMES, type Sending } from "./send_loop.ts";
import { type NotifyOptions, createNotificationSender } from "./notify/notification_sender.ts";

/** Starts to send: new events, and after a restart first those that were not delivered. */
export const startNotifier = (deps: OperationsDeps, options: NotifyOptions & { random?: () => number }): Sending =>
  startSending(deps, (stopped) => createNotificationSender(deps, options, stopped), {
    times: options.times ?? SEND_TIMES,
    random: options.random,
  });
