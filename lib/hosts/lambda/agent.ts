/** Dependencies of the functions that run actions, tasks and chat. */
import { storeCurrentCheckpoint } from "../../audit/checkpoint.ts";
import { limitLlm } from "../../llm/bounds.ts";
import { openModel } from "../model.ts";
import type { Parts } from "./open.ts";

/** Checkpoints on demand, and the configured language model; its limits count the calls of this instance only. */
export const agentParts: Parts = async (env, deps) => {
  const llm = await openModel(env);
  return {
    ...(deps.product && { checkpoint: { make: () => storeCurrentCheckpoint(deps) } }),
    ...(llm && {
      llm: limitLlm(llm, {
        clock: deps.clock,
        callsPerHour: deps.llmCallsPerHour,
        timeoutSeconds: deps.llmTimeout,
      }),
    }),
  };
};
