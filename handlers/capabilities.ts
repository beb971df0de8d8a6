import * as z from "zod";
import { atOneGlance } from "../lib/kit/glance.ts";
import type { GovernanceDeps } from "../lib/governance/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { answer } from "../lib/http/answer.ts";
import { capabilitiesOf } from "../lib/pulse/capabilities.ts";
import { capabilitySchema } from "../lib/pulse/capability.ts";
import { phaseSchema, phasesOf } from "../lib/pulse/phases.ts";

/** GET /api/capabilities: what this instance can do, for what it cannot why, and how far its use has come. */
export const capabilities = endpoint(
  {
    method: "GET",
    path: "/api/capabilities",
    summary: "The capability map and the phases",
    operation: "getCapabilities",
    description:
      "What this instance can do, for what it cannot the reason and the option that enables it, and how far its use has come.",
    example: {},
    input: z.object({}),
    output: z.object({
      capabilities: z.array(capabilitySchema).describe("Everything the service can do somewhere."),
      phases: z.array(phaseSchema).describe("How far its use has come, in five phases."),
      current_phase: z
        .string()
        .nullable()
        .meta({ description: "First phase that is not complete; null when all are.", examples: ["apply"] }),
    }),
  },
  async (_input, call: Call<GovernanceDeps>) => {
    const deps = atOneGlance(call.deps);
    const [all, phases] = await Promise.all([capabilitiesOf(deps), phasesOf(deps)]);
    return answer({ capabilities: all, ...phases });
  },
);
