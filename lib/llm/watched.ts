import { type Llm, LlmFailed } from "./port.ts";

/** The same model, which remembers whether it gave a usable answer last time. */
export function watchedLlm(llm: Llm): Llm {
  let problem: string | null = null;
  return {
    model: llm.model,
    problem: () => problem,
    async complete(request) {
      try {
        const answer = await llm.complete(request);
        problem = null;
        return answer;
      } catch (error) {
        problem = error instanceof LlmFailed ? error.message : "it failed";
        throw error;
      }
    },
  };
}
