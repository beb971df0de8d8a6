import * as z from "zod";
import { entrySchema } from "../../lib/audit/entry.ts";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { recordReview } from "../../lib/governance/record_decision.ts";
import { changeSchema, REVIEW_VERDICTS, STATUSES } from "../../lib/governance/rules/change.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, freeText, personName, word } from "../../lib/http/form.ts";

/** POST /api/product/review: says afterwards whether an emergency consent was right. */
export const review = endpoint(
  {
    method: "POST",
    path: "/api/product/review",
    summary: "Review an emergency consent",
    product: true,
    token: true,
    names: "approver",
    input: z.strictObject({
      change_id: changeId,
      approver: personName,
      verdict: word(REVIEW_VERDICTS),
      note: freeText(4000).optional(),
    }),
    output: z.object({
      change_id: z.string(),
      status: z.enum(STATUSES),
      verdict: z.enum(REVIEW_VERDICTS),
      change: changeSchema,
      audit_entry: entrySchema,
    }),
    errors: [
      "change_not_found",
      "illegal_transition",
      "not_an_approver",
      "self_approval_forbidden",
      "identity_mismatch",
      "version_mismatch",
      "idempotency_key_reused",
    ],
  },
  (input, call: Call<GovernanceDeps>) => recordReview(call, input),
);
