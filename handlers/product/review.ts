import * as z from "zod";
import { entrySchema } from "../../lib/audit/entry.ts";
import { DECISION_ERRORS, decisionFields, decisionTerms } from "../../lib/governance/decision_declaration.ts";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { recordReview } from "../../lib/governance/record_decision.ts";
import { changeSchema, REVIEW_VERDICTS, STATUSES } from "../../lib/governance/rules/change.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { personName, word } from "../../lib/http/form.ts";

/** POST /api/product/review: says afterwards whether an emergency consent was right. */
export const review = endpoint(
  {
    ...decisionTerms,
    path: "/api/product/review",
    summary: "Review an emergency consent",
    names: "approver",
    input: z.strictObject({ approver: personName, verdict: word(REVIEW_VERDICTS), ...decisionFields }),
    output: z.object({
      change_id: z.string(),
      status: z.enum(STATUSES),
      verdict: z.enum(REVIEW_VERDICTS),
      change: changeSchema,
      audit_entry: entrySchema,
    }),
    errors: [...DECISION_ERRORS, "not_an_approver", "self_approval_forbidden"],
  },
  (input, call: Call<GovernanceDeps>) => recordReview(call, input),
);
