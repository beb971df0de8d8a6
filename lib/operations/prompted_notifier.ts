/** Notifications of a host that runs only when it is called: they are sent after its requests and with its cycles. */
import type { OperationsDeps } from "./deps.ts";
import { SEND_TIMES } from "./keep_sending.ts";
import { type NotifyOptions, sending } from "./notify/sending.ts";
import { type PromptedSending, promptedSending } from "./prompted_sending.ts";

/** Sends on demand. `begin` marks the present as the start on a store that has reported nothing yet. */
export function promptedNotifier(
  deps: OperationsDeps,
  options: NotifyOptions,
): PromptedSending & { begin(): Promise<void> } {
  const sender = sending(deps, options, new AbortController().signal);
  return { ...promptedSending(deps, sender, options.times ?? SEND_TIMES), begin: sender.begin };
}
