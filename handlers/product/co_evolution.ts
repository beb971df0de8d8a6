import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { wholeNumber } from "../../lib/http/form.ts";
import { answer } from "../../lib/http/answer.ts";
import { insightSchema, sharedInsightSchema } from "../../lib/link/insight.ts";
import { peerRowSchema } from "../../lib/link/port.ts";
import { coEvolutionView } from "../../lib/link/registry.ts";

/** GET /api/product/co-evolution: what was learnt from peers, the last received first, and what this node told them. */
export const coEvolution = endpoint(
  {
    method: "GET",
    path: "/api/product/co-evolution",
    summary: "Insights learnt from peers",
    product: true,
    input: z.object({ limit: wholeNumber(1, 500).default(100) }),
    output: z.object({
      insights: z.array(insightSchema),
      peers: z.array(peerRowSchema),
      /** What leaves this node, word for word. */
      shared: z.array(sharedInsightSchema),
      counts: z.object({ kept: z.number(), unrelated: z.number(), refused: z.number() }),
    }),
  },
  async ({ limit }, { deps }: Call<GovernanceDeps>) => answer(await coEvolutionView(deps, limit)),
);
