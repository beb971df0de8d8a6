import * as z from "zod";
import { endpoint } from "../lib/endpoint.ts";
import { answer } from "../lib/http/answer.ts";
import { capabilitiesOf, capabilitySchema } from "../lib/pulse/capabilities.ts";

/** GET /api/capabilities: what this instance can do, and for what it cannot, why and what would switch it on. */
export const capabilities = endpoint(
  {
    method: "GET",
    path: "/api/capabilities",
    summary: "The capability map",
    input: z.object({}),
    output: z.object({
      capabilities: z.array(capabilitySchema),
      phases: z.array(z.unknown()),
      current_phase: z.string().nullable(),
    }),
  },
  async (_input, { deps }) => answer({ capabilities: await capabilitiesOf(deps), phases: [], current_phase: null }),
);
