import * as z from "zod";
import { addRequestCache } from "../lib/kit/request_cache.ts";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { line, integer } from "../lib/kit/fields.ts";
import { answer } from "../lib/http/answer.ts";
import { readActivityPage, nameChanges } from "../lib/projections/activity_log.ts";
import { activityRowSchema } from "../lib/projections/activity.ts";

/** GET /api/log: notices of the service, newest first. */
export const log = endpoint(
  {
    method: "GET",
    path: "/api/log",
    summary: "The growth log",
    operation: "listGrowthRows",
    description: "Notices of the service, newest first. No evidence.",
    example: { limit: 20 },
    input: z.object({
      limit: integer(1, 500).default(50).describe("Maximum number of rows."),
      before: integer(0).optional().describe("Only rows before this seq: next of the page before."),
      kind: line(200).optional().describe("Only rows of this kind."),
    }),
    output: z.object({
      entries: z.array(activityRowSchema()).describe("Rows, newest first."),
      next: z.number().int().nullable().describe("before of the next page; null at the end."),
    }),
  },
  async (input, { deps }: Call<ChangesDeps>) => {
    const { entries, next } = await readActivityPage(addRequestCache(deps), input);
    return answer({ entries: await nameChanges(deps.store, entries), next });
  },
);
