import * as z from "zod";
import { findSchema } from "../lib/find/answer.ts";
import { isTimeZone } from "../lib/find/dates.ts";
import { MAX_QUERY_LENGTH, parseQuery } from "../lib/find/parse.ts";
import { runQuery } from "../lib/find/run.ts";
import { findCallerName } from "../lib/changes/caller.ts";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { answer } from "../lib/http/answer.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { changeId, freeText, line, personName, integer } from "../lib/kit/fields.ts";
import { addRequestCache } from "../lib/kit/request_cache.ts";

/** GET /api/find: the changes that a query finds. */
export const find = endpoint(
  {
    method: "GET",
    path: "/api/find",
    summary: "Find changes",
    operation: "findChanges",
    description: "Finds changes by words and field:value terms; GET /api/find/saved lists the fields.",
    example: { q: "is:pending risk:high", limit: 20 },
    ownReads: "filtered",
    product: true,
    input: z.object({
      q: freeText(MAX_QUERY_LENGTH).default("").describe("The query; empty: every change."),
      limit: integer(1, 1000).default(50).describe("Maximum number of rows."),
      after: changeId().optional().describe("The next of the page before."),
      tz: line(100)
        .refine(isTimeZone, "must be a time zone such as Europe/Berlin")
        .default("UTC")
        .describe("The time zone in which days are read; absent: UTC."),
      person: personName().optional().describe("The caller; absent: the proxy's person, or the agent."),
    }),
    output: findSchema,
    errors: ["identity_mismatch", "reads_busy"],
  },
  async ({ q, limit, after, tz, person }, call: Call<ChangesDeps>) => {
    const deps = addRequestCache(call.deps);
    const query = parseQuery(q, { now: deps.clock.now(), zone: tz });
    return answer(await runQuery(deps, query, { limit, after, zone: tz, caller: findCallerName(call, person) }));
  },
);
