import * as z from "zod";
import { atOneGlance } from "../lib/kit/glance.ts";
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
    operation: "searchMemory",
    description:
      "Finds what is remembered of proposals, decisions, outcomes, verdicts, KPI feeds, feedback and chat: records first, then what was said.",
    example: { q: "seat limit", limit: 5 },
    input: z.object({
      q: line(1000).describe("What to look for, in any words."),
      limit: wholeNumber(1, 100).default(10).describe("How many memories at most."),
    }),
    output: z.object({
      query: z.string().meta({ description: "What was looked for.", examples: ["seat limit"] }),
      results: z.array(recalledSchema).describe("Memories, best first."),
    }),
  },
  async ({ q, limit }, { deps }: Call<GovernanceDeps>) =>
    answer({ query: q, results: await recall(atOneGlance(deps), { query: q, limit }) }),
);
