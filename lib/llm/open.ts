/** Opens the configured model; only the client of its provider is loaded. */
import { type Llm, type LlmAccess, LlmFailed, LlmUnwanted } from "./port.ts";

/** Values of `--llm`, `--llm-base-url`, `--llm-model` and the variable named by `--llm-key-env`. */
export interface LlmChoice extends LlmAccess {
  /** `openai`, `anthropic`, or the base URL of an OpenAI-compatible server. */
  provider: string;
}

/** Opens the model; its `problem` is the reason why the last call failed. */
export async function openLlm({ provider, ...access }: LlmChoice): Promise<Llm> {
  if (provider === "anthropic") return trackProblem((await import("./anthropic.ts")).anthropicLlm(access));
  const { openAiLlm } = await import("./openai.ts");
  return trackProblem(openAiLlm(provider === "openai" ? access : { ...access, baseUrl: provider }));
}

/** Remembers why the last call failed. A call whose client stopped waiting (`LlmUnwanted`) is no failure of the model. */
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
