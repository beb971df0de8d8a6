import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { identitySchema } from "../../lib/changes/runtime.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/identity: the product, and this instance of it. */
export const identity = endpoint(
  {
    method: "GET",
    path: "/api/product/identity",
    summary: "The instance's identity",
    operation: "getIdentity",
    description: "The governed product, and this instance.",
    example: {},
    ownReads: "neutral",
    product: true,
    input: () => z.object({}),
    output: identitySchema,
  },
  async (_input, { deps }: Call<ChangesDeps>) => answer(deps.product!.identity),
);
