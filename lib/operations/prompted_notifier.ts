/** Notifications of a host that runs only when it is called: they are sent after its requests and with its cycles. */
import type { OperationsDeps } from "./deps.ts";
import { SEND_TIMES } from "./send_loop.ts";
import { type NotifyOptions, createNotificationSender } from "./notify/notification_sender.ts";
import { type PromptedSending, createPromptedSending } from "./prompted_sending.ts";

/** Sends on demand. `begin` marks the present as the start on a store that has reported nothing yet. */
export function createPromptedNotifier(
  deps: OperationsDeps,
  options: NotifyOptions,
): PromptedSending & { begin(): Promise<void> } {
  const sender = createNotificationSender(deps, options, new AbortController().signal);
  return { ...createPromptedSending(deps, sender, options.times ?? SEND_TIMES), begin: sender.begin };
}
