import * as z from "zod";
import type { GovernanceDeps } from "../lib/governance/deps.ts";
import { recall, recalledSchema } from "../lib/memory/recall.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { line, wholeNumber } from "../lib/http/form.ts";
import { answer } from "../lib/http/answer.ts";

/** GET /api/memory/search: what is remembered of something, best first. */
export const memorySearch = endpoint(
  {
    method: "GET",
    path: "/api/memory/search",
    summary: "Search memory",
    input: z.object({ q: line(1000), limit: wholeNumber(1, 100).default(10) }),
    output: z.object({ query: z.string(), results: z.array(recalledSchema) }),
  },
  async ({ q, limit }, { deps }: Call<GovernanceDeps>) =>
    answer({ query: q, results: await recall(deps, { query: q, limit }) }),
);
