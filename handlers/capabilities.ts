import * as z from "zod";
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
    input: z.object({}),
    output: z.object({
      capabilities: z.array(capabilitySchema),
      phases: z.array(phaseSchema),
      /** The first phase that is not complete; `null` when all are. */
      current_phase: z.string().nullable(),
    }),
  },
  async (_input, { deps }: Call<GovernanceDeps>) =>
    answer({ capabilities: await capabilitiesOf(deps), ...(await phasesOf(deps)) }),
);
