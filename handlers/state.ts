import * as z from "zod";
import { addRequestCache } from "../lib/kit/request_cache.ts";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { answer } from "../lib/http/answer.ts";
import { listCapabilities } from "../lib/operations/capabilities.ts";
import { capabilitySchema } from "../lib/operations/capability.ts";
import { stateSchema, readState } from "../lib/operations/state.ts";

/** GET /api/state: E, M, R and N of the service, with the inputs of each value. */
export const state = endpoint(
  {
    method: "GET",
    path: "/api/state",
    summary: "The system's state",
    operation: "getState",
    description: "E, M, R and N with inputs, goals, tasks and freeze.",
    example: {},
    input: z.object({}),
    output: () =>
      stateSchema.extend({
        product: z
          .object({
            product_id: z.string().describe("Id of the product."),
            version: z.string().describe("Version of the intent."),
          })
          .nullable()
          .describe("The product; null without an intent."),
        failing: z.array(capabilitySchema).describe("Capabilities that fail or are degraded."),
      }),
    shared: () => true,
  },
  async (_input, call: Call<ChangesDeps>) => {
    const deps = addRequestCache(call.deps);
    const [view, all] = await Promise.all([readState(deps), listCapabilities(deps)]);
    const failing = all.filter(({ status }) => status === "failing" || status === "degraded");
    const intent = deps.product?.intent;
    const product = intent ? { product_id: intent.product_id, version: intent.version } : null;
    return answer({ ...view, product, failing });
  },
);
