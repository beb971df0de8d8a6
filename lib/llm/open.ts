/** The model that was chosen; a provider's client is loaded only when it is asked for. */
import { type Llm, type LlmAccess, LlmFailed, LlmUnwanted } from "./port.ts";

/** Values of `--llm`, `--llm-base-url`, `--llm-model` and the variable named by `--llm-key-env`. */
export interface LlmChoice extends LlmAccess {
  /** `openai`, `anthropic`, or the base URL of an OpenAI-compatible server. */
  provider: string;
}

/** Opens the model; it remembers whether it gave a usable answer last time. */
export async function openLlm({ provider, ...access }: LlmChoice): Promise<Llm> {
  if (provider === "anthropic") return trackProblem((await import("./anthropic.ts")).anthropicLlm(access));
  const { openAiLlm } = await import("./openai.ts");
  return trackProblem(openAiLlm(provider === "openai" ? access : { ...access, baseUrl: provider }));
}

function trackProblem({ model, complete }: Llm): Llm {
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
        if (error instanceof LlmUnwanted) throw error;
        problem = error instanceof LlmFailed ? error.message : "it failed";
        throw error;
      }
    },
  };
}
