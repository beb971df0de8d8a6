/** The port to a language model. The model returns text and calls of tools; only the tools of this service act. */

/** A tool as the model sees it; `parameters` is JSON Schema of an object. */
export interface ToolSpec {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

/** A call of a tool by the model; `input` is not validated yet. */
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
 * A language model. `complete` throws `LlmFailed`, or whatever an abort throws; where the signal's reason is a `LlmFailed`, that
 * is why.
 */
export interface Llm {
  readonly model: string;
  /** `isCut`: the text ended at the length limit of the model. */
  complete(request: LlmRequest): Promise<{ text: string; toolCalls: ToolCall[]; isCut?: boolean }>;
  /** Why there was no usable answer last time; `null` when there was one, or none was asked for yet. */
  problem?(): string | null;
  /** How much it has been asked, where that is bounded. */
  use?(): LlmUse;
}

/** How much a model has been asked in this process, and how often it was not since a bound was reached. */
export interface LlmUse {
  calls: number;
  under_way: number;
  refused: { busy: number; budget: number };
  /** Why it is not asked now, and from when on it is; `null` while it may be. */
  spent: string | null;
}

/** How to reach a provider. */
export interface LlmAccess {
  model: string;
  key?: string | undefined;
  /** Base of the protocol's own paths, instead of the provider's; a bare origin is completed with `/v1`. */
  baseUrl?: string | undefined;
}

/** The model gave no usable answer. The message is a few words for people and holds nothing that was sent or received. */
export class LlmFailed extends Error {
  override readonly name = "LlmFailed";
}

/** Returns the error of a call that was aborted before the model answered. */
export const abortError = ({ reason }: AbortSignal): LlmFailed =>
  reason instanceof LlmFailed ? reason : new LlmFailed("no answer in time");

/** The client no longer waits for the answer; the model did not fail. */
export class LlmUnwanted extends LlmFailed {}

/** The tools of one reply: their descriptions, and the one way to use them. */
export interface Toolbox {
  specs: ToolSpec[];
  /** Runs a tool and returns its result to the model; an unknown name or invalid input returns an error, and does nothing. */
  use(call: ToolCall): Promise<string>;
}
