/** The port to a language model. The model returns text and calls of tools; only the tools of this service have effects. */

/** A tool as the model sees it; `parameters` is JSON Schema of an object. */
export interface ToolSpec {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

/** A call of a tool by the model; its result names the same `id`. `input` is not validated yet. */
export interface ToolCall {
  id: string;
  name: string;
  input: unknown;
}

/** One message of the conversation with the model. */
export type LlmMessage =
  | { role: "user"; text: string }
  | { role: "assistant"; text: string; toolCalls?: readonly ToolCall[] }
  | { role: "tool"; results: readonly { id: string; text: string }[] };

/** A request to the model. */
export interface LlmRequest {
  system: string;
  messages: readonly LlmMessage[];
  tools: readonly ToolSpec[];
  signal: AbortSignal;
}

/**
 * A language model. `complete` throws `LlmFailed`; when the signal aborts with a `LlmFailed` as its reason, that one.
 */
export interface Llm {
  readonly model: string;
  /** `isCut`: the text ended at the length limit of the model. */
  complete(request: LlmRequest): Promise<{ text: string; toolCalls: ToolCall[]; isCut?: boolean }>;
  /** Returns the reason why the last call failed; null if it did not, or before the first call. */
  problem?(): string | null;
  /** Returns the number of calls, if they are limited. */
  usage?(): LlmUse;
}

/** Calls of a model in this process, and calls that were rejected because of a limit. */
export interface LlmUse {
  calls: number;
  under_way: number;
  refused: { busy: number; budget: number };
  /** Why the calls of this hour are used up, and from when on calls are allowed; null if they are allowed. */
  spent: string | null;
}

/** Access to a provider. */
export interface LlmAccess {
  model: string;
  key?: string | undefined;
  /** Base of the API's paths, instead of the provider's; `/v1` is appended to an address without a path. */
  baseUrl?: string | undefined;
}

/** The model gave no usable answer. The message is for people and contains nothing that was sent or received. */
export class LlmFailed extends Error {
  override readonly name = "LlmFailed";
}

/** Returns the error of a call that was aborted before the model answered. */
export const abortError = ({ reason }: AbortSignal): LlmFailed =>
  reason instanceof LlmFailed ? reason : new LlmFailed("no answer in time");

/** The client no longer waits for the answer; the model did not fail. */
export class LlmUnwanted extends LlmFailed {}

/** The tools that the model may call for one reply. */
export interface Toolbox {
  specs: ToolSpec[];
  /** Runs a tool and returns its result to the model; an unknown name or invalid input has no effect, and the result is an error. */
  use(call: ToolCall): Promise<string>;
}
