/** The conversation with a language model: its wishes for tools are answered until it answers, within a time and a number of rounds. */
import { step } from "../kit/time_limit.ts";
import { type Llm, LlmFailed, type LlmMessage, LlmUnwanted, type Toolbox, whyEnded } from "./port.ts";

/** How long a model may take for one reply, all rounds together, in milliseconds. */
export const LLM_LIMIT_MS = 20_000;

const ROUNDS = 5;
const CALLS_A_ROUND = 8;
const LONGEST_REPLY = 8000;

/** How long a conversation may last, and what ends it sooner. */
interface Ends {
  limitMs?: number | undefined;
  /** Aborted when whoever asks has gone. */
  gone?: AbortSignal | undefined;
}

/** The model's text. Errors: `LlmFailed`; after it nothing more is done for the model. */
export function converse(
  llm: Llm,
  system: string,
  opening: readonly LlmMessage[],
  tools: Toolbox,
  { limitMs = LLM_LIMIT_MS, gone }: Ends = {},
): Promise<string> {
  const late = (): LlmFailed => new LlmFailed("no answer in time");
  const messages = [...opening];
  const talk = async (signal: AbortSignal): Promise<string> => {
    for (let round = 0; round < ROUNDS; round++) {
      const answer = await llm.complete({ system, messages, tools: tools.specs, signal });
      if (answer.toolCalls.length === 0) return textOf(answer.text, answer.isCut);
      const toolCalls = answer.toolCalls.slice(0, CALLS_A_ROUND);
      const results: { id: string; text: string }[] = [];
      for (const call of toolCalls) {
        if (signal.aborted) throw whyEnded(signal);
        results.push({ id: call.id, text: await tools.use(call) });
      }
      messages.push({ role: "assistant", text: answer.text, toolCalls }, { role: "tool", results });
    }
    throw new LlmFailed("it asked for tools without end");
  };
  return step((signal) => talk(eitherOf(signal, gone)), limitMs, late);
}

/** Aborts when the time is over, and when nobody waits for an answer. */
function eitherOf(time: AbortSignal, gone: AbortSignal | undefined): AbortSignal {
  const either = new AbortController();
  time.addEventListener("abort", () => either.abort());
  const unwanted = (): void => either.abort(new LlmUnwanted("nobody waits for its answer"));
  if (gone?.aborted) unwanted();
  gone?.addEventListener("abort", unwanted);
  return either.signal;
}

/**
 * Returns the text of an answer: without the thoughts of the model, shortened where it is too long to be stored, and with a note
 * where it was cut. Errors: `LlmFailed` when it said nothing.
 */
export function textOf(text: string, isCut = false): string {
  const said = text
    .replaceAll(/<think>[\s\S]*?(?:<\/think>|$)/gi, "")
    .trim()
    .toWellFormed();
  if (said === "") throw new LlmFailed("it said nothing");
  const shown = said.length > LONGEST_REPLY ? `${said.slice(0, LONGEST_REPLY).toWellFormed()}…` : said;
  return isCut ? `${shown}\n(The answer was cut at the length limit of the model.)` : shown;
}
