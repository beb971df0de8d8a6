import * as z from "zod";
import type { GovernanceDeps } from "../lib/governance/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { line, wholeNumber } from "../lib/http/form.ts";
import { answer } from "../lib/http/answer.ts";
import { growthPage } from "../lib/follow/growth_log.ts";
import { growthSchema } from "../lib/follow/growth_row.ts";

/** GET /api/log: what the service noticed, newest first. */
export const log = endpoint(
  {
    method: "GET",
    path: "/api/log",
    summary: "The growth log",
    input: z.object({
      limit: wholeNumber(1, 500).default(50),
      before: wholeNumber(0).optional(),
      kind: line(200).optional(),
    }),
    output: z.object({ entries: z.array(growthSchema), next: z.number().int().nullable() }),
  },
  async (input, { deps }: Call<GovernanceDeps>) => answer(await growthPage(deps, input)),
);
