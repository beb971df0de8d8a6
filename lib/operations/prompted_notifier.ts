/** Notifications on a host that runs only during requests: sent after requests and in cycles. */
import type { OperationsDeps } from "./deps.ts";
import { SEND_TIMES } from "./send_loop.ts";
import { type NotifyOptions, createNotificationSender } from "./notify/notification_sender.ts";
import { type PromptedSending, createPromptedSending } from "./prompted_sending.ts";

/** Creates the sender; `send` starts each run. `begin` stores the present position if there is no cursor yet. */
export function createPromptedNotifier(
  deps: OperationsDeps,
  options: NotifyOptions,
): PromptedSending & { begin(): Promise<void> } {
  const sender = createNotificationSender(deps, options, new AbortController().signal);
  return { ...createPromptedSending(deps, sender, options.times ?? SEND_TIMES), begin: sender.begin };
}
