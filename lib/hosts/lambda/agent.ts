/** What the functions need that run actions, tasks and chat. */
import { currentCheckpoint } from "../../audit/checkpoint.ts";
import { openLlm } from "../../llm/open.ts";
import { llmProblem } from "../capabilities.ts";
import { required } from "./environment.ts";
import type { Parts } from "./open.ts";

/** Checkpoints on demand, and the language model where one is configured; its key is `SVC_LLM_KEY`. */
export const agentParts: Parts = async (env, deps) => ({
  ...(deps.product && { checkpoint: { make: () => currentCheckpoint(deps) } }),
  ...(llmProblem(env) === null && {
    llm: await openLlm({
      provider: required(env, "SVC_LLM"),
      model: required(env, "SVC_LLM_MODEL"),
      key: env["SVC_LLM_KEY"],
    }),
  }),
});
