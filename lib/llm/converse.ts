/** The conversation with a language model: its tool calls are answered until it answers, within a number of calls. */
import { type Llm, LlmFailed, type LlmMessage, LlmUnwanted, type Toolbox, abortError } from "./port.ts";

/** Calls of the model for one reply. */
const MAX_CALLS = 8;
/** Tools that one answer of the model may use. */
const MAX_TOOLS_PER_CALL = 8;
const MAX_REPLY_LENGTH = 8000;

/**
 * Returns the model's text. `gone` is aborted when the client has gone. Errors: `LlmFailed`; after it nothing more is done for the
 * model.
 */
export async function converse(
  llm: Llm,
  system: string,
  opening: readonly LlmMessage[],
  tools: Toolbox,
  gone?: AbortSignal,
): Promise<string> {
  const { signal } = abortWhenGone(gone);
  const messages = [...opening];
  for (let call = 0; call < MAX_CALLS; call++) {
    const answer = await llm.complete({ system, messages, tools: tools.specs, signal });
    if (answer.toolCalls.length === 0) return requireText(answer.text, answer.isCut);
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

/** Makes a controller that aborts with `LlmUnwanted` when the client has gone. */
function abortWhenGone(gone: AbortSignal | undefined): AbortController {
  const unwanted = new AbortController();
  const abort = (): void => unwanted.abort(new LlmUnwanted("nobody waits for its answer"));
  if (gone?.aborted) abort();
  gone?.addEventListener("abort", abort);
  return unwanted;
}

/**
 * Returns the text of an answer: without the thoughts of the model, shortened where it is too long to be stored, and with a note
 * where it was cut. Errors: `LlmFailed` when it said nothing.
 */
export function requireText(text: string, isCut = false): string {
  const reply = text
    .replaceAll(/<think>[\s\S]*?(?:<\/think>|$)/gi, "")
    .trim()
    .toWellFormed();
  if (reply === "") throw new LlmFailed("it said nothing");
  const shown = reply.length > MAX_REPLY_LENGTH ? `${reply.slice(0, MAX_REPLY_LENGTH).toWellFormed()}…` : reply;
  return isCut ? `${shown}\n(The answer was cut at the length limit of the model.)` : shown;
}
