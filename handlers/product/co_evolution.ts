import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { integer } from "../../lib/kit/fields.ts";
import { answer } from "../../lib/http/answer.ts";
import { insightSchema, sharedInsightSchema } from "../../lib/link/insight.ts";
import { peerRowSchema } from "../../lib/link/port.ts";
import { coEvolutionView } from "../../lib/link/registry.ts";

/** GET /api/product/co-evolution: insights from peers, the last received first, and those that this node shares. */
export const coEvolution = endpoint(
  {
    method: "GET",
    path: "/api/product/co-evolution",
    summary: "Insights learnt from peers",
    operation: "listInsights",
    description: "Effects of changes at peers, newest first, and those that this instance shares.",
    example: { limit: 20 },
    product: true,
    input: () => z.object({ limit: integer(1, 500).default(100).describe("Maximum number of insights.") }),
    output: () =>
      z.object({
        insights: z.array(insightSchema()).describe("Insights of peers, the last received first."),
        peers: z.array(peerRowSchema()).describe("The peers they come from."),
        shared: z.array(sharedInsightSchema()).describe("The shared insights, word for word."),
        counts: z
          .object({
            kept: z.number().describe("Insights that are kept."),
            unrelated: z.number().describe("Insights of unrelated products."),
            refused: z.number().describe("Insights that were malformed, or that the peer may not send."),
          })
          .describe("Number of received insights, by result."),
      }),
  },
  async ({ limit }, { deps }: Call<ChangesDeps>) => answer(await coEvolutionView(deps, limit)),
);
