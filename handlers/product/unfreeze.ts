import * as z from "zod";
import { entrySchema } from "../../lib/audit/entry.ts";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { unfreezeService } from "../../lib/governance/freeze.ts";
import { freezeSchema } from "../../lib/governance/rules/freeze.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { freeText, personName } from "../../lib/http/form.ts";

/** POST /api/product/unfreeze: lifts a freeze. */
export const unfreeze = endpoint(
  {
    method: "POST",
    path: "/api/product/unfreeze",
    summary: "Lift a freeze",
    product: true,
    token: true,
    input: z.strictObject({
      actor: personName.optional(),
      note: freeText(4000).optional(),
    }),
    output: z.object({
      frozen: z.boolean(),
      freeze: freezeSchema.nullable(),
      audit_entry: entrySchema,
    }),
    errors: ["illegal_transition", "identity_mismatch", "idempotency_key_reused"],
  },
  (input, call: Call<GovernanceDeps>) => unfreezeService(call, input),
);
