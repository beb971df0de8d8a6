import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { identitySchema } from "../../lib/governance/runtime.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/identity: which instance of which product this is. */
export const identity = endpoint(
  {
    method: "GET",
    path: "/api/product/identity",
    summary: "The instance's identity",
    operation: "getIdentity",
    description: "Which product this instance governs, and which instance it is.",
    example: {},
    product: true,
    input: () => z.object({}),
    output: identitySchema,
  },
  async (_input, { deps }: Call<GovernanceDeps>) => answer(deps.product!.identity),
);
