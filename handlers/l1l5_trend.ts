import * as z from "zod";
import { addRequestCache } from "../lib/kit/request_cache.ts";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { integer } from "../lib/kit/fields.ts";
import { answer } from "../lib/http/answer.ts";
import { MAX_DAYS } from "../lib/projections/counts.ts";
import { computeTrend, trendSchema } from "../lib/operations/trend.ts";

/** GET /api/l1l5_trend: decisions by level of autonomy and UTC day. */
export const l1l5Trend = endpoint(
  {
    method: "GET",
    path: "/api/l1l5_trend",
    summary: "Levels of autonomy by day",
    operation: "getAutonomyTrend",
    description: "Decisions by UTC day and level: people alone (L1) to the intent's rules (L4); L5 is drift.",
    example: { days: 7 },
    input: z.object({ days: integer(1, MAX_DAYS).default(30).describe("Number of UTC days, including today.") }),
    output: trendSchema,
  },
  async ({ days }, { deps }: Call<ChangesDeps>) => answer(await computeTrend(addRequestCache(deps), days)),
);
