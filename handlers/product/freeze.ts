import * as z from "zod";
import { entrySchema } from "../../lib/audit/entry.ts";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { freezeService } from "../../lib/governance/freeze.ts";
import { freezeSchema } from "../../lib/governance/rules/freeze.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { freeText, personName, time } from "../../lib/http/form.ts";

/** POST /api/product/freeze: nothing is applied until it is lifted or over. */
export const freeze = endpoint(
  {
    method: "POST",
    path: "/api/product/freeze",
    summary: "Hold every apply back",
    product: true,
    token: true,
    input: z.strictObject({
      actor: personName.optional(),
      note: freeText(4000).optional(),
      until: time.optional(),
    }),
    output: z.object({
      frozen: z.boolean(),
      freeze: freezeSchema.nullable(),
      audit_entry: entrySchema,
    }),
    errors: ["identity_mismatch", "idempotency_key_reused"],
  },
  (input, call: Call<GovernanceDeps>) => freezeService(call, input),
);
