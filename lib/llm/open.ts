/** The model that was chosen; a provider's client is loaded only when it is asked for. */
import { type Llm, LlmFailed } from "./port.ts";

/** What `--llm`, `--llm-model` and the variable named by `--llm-key-env` say. */
export interface LlmChoice {
  /** `openai`, `anthropic`, or the base URL of an OpenAI-compatible server. */
  provider: string;
  model: string;
  key?: string | undefined;
}

/** Opens the model; it remembers whether it gave a usable answer last time. */
export async function openLlm({ provider, model, key }: LlmChoice): Promise<Llm> {
  if (provider === "anthropic") return watched((await import("./anthropic.ts")).anthropicLlm({ model, key }));
  const { openAiLlm } = await import("./openai.ts");
  return watched(openAiLlm({ model, key, ...(provider !== "openai" && { baseUrl: provider }) }));
}

function watched({ model, complete }: Llm): Llm {
  let problem: string | null = null;
  return {
    model,
    problem: () => problem,
    async complete(request) {
      try {
        const answer = await complete(request);
        problem = null;
        return answer;
      } catch (error) {
        problem = error instanceof LlmFailed ? error.message : "it failed";
        throw error;
      }
    },
  };
}
