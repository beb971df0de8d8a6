/** Conducts a conversation with a language model: runs its tool calls until it replies with text. */
import { type Llm, LlmFailed, type LlmMessage, LlmUnwanted, type Toolbox, abortError } from "./port.ts";

/** Calls of the model for one reply. */
const MAX_CALLS = 8;
/** Tool calls of one answer that are run. */
const MAX_TOOLS_PER_CALL = 8;
const MAX_REPLY_LENGTH = 8000;

/**
 * Returns the model's text. `clientGone` aborts when the client has disconnected. Errors: `LlmFailed`, after which no tool call
 * runs any more.
 */
export async function converse(
  llm: Llm,
  system: string,
  opening: readonly LlmMessage[],
  tools: Toolbox,
  clientGone?: AbortSignal,
): Promise<string> {
  const { signal } = abortWhenGone(clientGone);
  const messages = [...opening];
  for (let call = 0; call < MAX_CALLS; call++) {
    const answer = await llm.complete({ system, messages, tools: tools.specs, signal });
    if (answer.toolCalls.length === 0) return requireText(answer.text, answer.isCut);
    // Further calls are left out of the message too, so that each call in it has a result.
    const toolCalls = answer.toolCalls.slice(0, MAX_TOOLS_PER_CALL);
    const results: { id: string; text: string }[] = [];
    for (const toolCall of toolCalls) {
      if (signal.aborted) throw abortError(signal);
      results.push({ id: toolCall.id, text: await tools.use(toolCall) });
    }
    messages.push({ role: "assistant", text: answer.text, toolCalls }, { role: "tool", results });
  }
  throw new LlmFailed("it asked for tools without end");
}

/** Creates a controller that aborts with `LlmUnwanted` when the client has disconnected. */
function abortWhenGone(clientGone: AbortSignal | undefined): AbortController {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new LlmUnwanted("nobody waits for its answer"));
  if (clientGone?.aborted) abort();
  clientGone?.addEventListener("abort", abort);
  return controller;
}

/**
 * Returns the text of an answer: without the thoughts of the model, shortened if it is too long to be stored, and with a note if
 * the model cut it. Errors: `LlmFailed` for an empty answer.
 */
export function requireText(text: string, isCut = false): string {
  const reply = text
    .replaceAll(/<think>[\s\S]*?(?:<\/think>|$)/gi, "")
    .trim()
    .toWellFormed();
  if (reply === "") throw new LlmFailed("it said nothing");
  const shortened = reply.length > MAX_REPLY_LENGTH ? `${reply.slice(0, MAX_REPLY_LENGTH).toWellFormed()}…` : reply;
  return isCut ? `${shortened}\n(The answer was cut at the length limit of the model.)` : shortened;
}
