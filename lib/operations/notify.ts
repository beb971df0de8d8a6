/** Notifications, one after the other and in order, for as long as the process lives. */
import type { OperationsDeps } from "./deps.ts";
import { startSending, SEND_TIMES, type Sending } from "./send_loop.ts";
import { type NotifyOptions, createNotificationSender } from "./notify/notification_sender.ts";

/** Begins with what happens from now on, or, after a restart, with what was not delivered before. */
export const startNotifier = (deps: OperationsDeps, options: NotifyOptions & { random?: () => number }): Sending =>
  startSending(deps, (ended) => createNotificationSender(deps, options, ended), {
    times: options.times ?? SEND_TIMES,
    random: options.random,
  });
