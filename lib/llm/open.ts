import type { Llm } from "./port.ts";
import { watchedLlm } from "./watched.ts";

/** What `--llm`, `--llm-model` and the variable named by `--llm-key-env` say. */
export interface LlmChoice {
  /** `openai`, `anthropic`, or the base URL of an OpenAI-compatible server. */
  provider: string;
  model: string;
  key?: string | undefined;
}

/** The model that was chosen; a provider's client is loaded only when it is asked for. */
export async function openLlm({ provider, model, key }: LlmChoice): Promise<Llm> {
  if (provider === "anthropic") return watchedLlm((await import("./anthropic.ts")).anthropicLlm({ model, key }));
  const { openAiLlm } = await import("./openai.ts");
  return watchedLlm(openAiLlm({ model, key, ...(provider === "openai" ? {} : { baseUrl: provider }) }));
}
