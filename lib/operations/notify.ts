/** Notifications, one after the other and in order, for as long as the process lives. */
import type { OperationsDeps } from "./deps.ts";
import { keepSending, SEND_TIMES, type Sending } from "./keep_sending.ts";
import { type NotifyOptions, sending } from "./notify/sending.ts";

/** Begins with what happens from now on, or, after a restart, with what was not delivered before. */
export const startNotifier = (deps: OperationsDeps, options: NotifyOptions & { random?: () => number }): Sending =>
  keepSending(deps, (ended) => sending(deps, options, ended), {
    times: options.times ?? SEND_TIMES,
    random: options.random,
  });
