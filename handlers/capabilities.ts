import * as z from "zod";
import { addRequestCache } from "../lib/kit/request_cache.ts";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { answer } from "../lib/http/answer.ts";
import { listCapabilities } from "../lib/operations/capabilities.ts";
import { capabilitySchema } from "../lib/operations/capability.ts";
import { phaseSchema, computePhases } from "../lib/operations/phases.ts";

/** GET /api/capabilities: the features of this instance, the reasons why features are off, and the phases of its use. */
export const capabilities = endpoint(
  {
    method: "GET",
    path: "/api/capabilities",
    summary: "The capability map and the phases",
    operation: "getCapabilities",
    description: "Capabilities of this instance; for missing ones the reason and the option.",
    example: {},
    input: z.object({}),
    output: z.object({
      capabilities: z.array(capabilitySchema).describe("Everything the service can do somewhere."),
      phases: z.array(phaseSchema).describe("The phases of its use, five in all."),
      current_phase: z
        .string()
        .nullable()
        .meta({ description: "First phase that is not complete; null when all are.", examples: ["apply"] }),
    }),
  },
  async (_input, call: Call<ChangesDeps>) => {
    const deps = addRequestCache(call.deps);
    const [all, phases] = await Promise.all([listCapabilities(deps), computePhases(deps)]);
    return answer({ capabilities: all, ...phases });
  },
);
