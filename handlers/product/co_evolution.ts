import * as z from "zod";
import { endpoint } from "../../lib/endpoint.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/co-evolution: what was learnt from peers. */
export const coEvolution = endpoint(
  {
    method: "GET",
    path: "/api/product/co-evolution",
    summary: "Insights learnt from peers",
    product: true,
    input: z.object({}),
    output: z.object({ insights: z.array(z.unknown()), peers: z.array(z.unknown()) }),
  },
  async () => answer({ insights: [], peers: [] }),
);
