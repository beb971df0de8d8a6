/** What the functions need that run actions, tasks and chat. */
import { currentCheckpoint } from "../../audit/checkpoint.ts";
import type { Deps } from "../../deps.ts";
import { boundedLlm } from "../../llm/bounds.ts";
import { openLlm } from "../../llm/open.ts";
import type { Llm } from "../../llm/port.ts";
import { llmProblem } from "../capabilities.ts";
import { type Environment, required } from "./environment.ts";
import type { Parts } from "./open.ts";

/** Checkpoints on demand, and the language model where one is configured; its key is `SVC_LLM_KEY`. */
export const agentParts: Parts = async (env, deps) => ({
  ...(deps.product && { checkpoint: { make: () => currentCheckpoint(deps) } }),
  ...(llmProblem(env) === null && { llm: await modelOf(env, deps) }),
});

/** Its bounds are of this instance; how many of them there are, the function's concurrency says. */
const modelOf = async (env: Environment, { clock, llmCallsPerHour: callsPerHour }: Deps): Promise<Llm> =>
  boundedLlm(
    await openLlm({
      provider: required(env, "SVC_LLM"),
      baseUrl: env["SVC_LLM_BASE_URL"] || undefined,
      model: required(env, "SVC_LLM_MODEL"),
      key: env["SVC_LLM_KEY"],
    }),
    { clock, callsPerHour },
  );
