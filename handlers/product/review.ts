import * as z from "zod";
import { entrySchema } from "../../lib/audit/entry.ts";
import { recordReview } from "../../lib/changes/commands/review.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { changeSchema, REVIEW_VERDICTS, STATUSES } from "../../lib/changes/rules/change.ts";
import type { CommandResult } from "../../lib/changes/transaction.ts";
import { changeReply } from "../../lib/http/change_replies.ts";
import { DECISION_ERRORS, decisionFields, decisionTerms } from "../../lib/http/decision_declaration.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { personName, word } from "../../lib/kit/fields.ts";
import { respond } from "../../lib/http/replies.ts";

/** POST /api/product/review: records the review of an emergency consent. */
export const review = endpoint(
  {
    ...decisionTerms,
    path: "/api/product/review",
    summary: "Review an emergency consent",
    operation: "reviewEmergency",
    description: "Records afterwards if an emergency consent was right.",
    example: {
      change_id: CHANGE_ID,
      approver: "ana@acme.example",
      verdict: "accepted",
      note: "The outage left no choice.",
    },
    callerField: "approver",
    input: () =>
      z.strictObject({
        approver: personName().describe("Reviewer; absent: the proxy's person."),
        verdict: word(REVIEW_VERDICTS).describe("The reviewer's verdict on the emergency."),
        ...decisionFields(),
      }),
    output: () =>
      z.object({
        change_id: z.string().describe("Id of the change."),
        status: z.enum(STATUSES).describe("Status of the change."),
        verdict: z.enum(REVIEW_VERDICTS).describe("Verdict of the review."),
        change: changeSchema(),
        audit_entry: entrySchema(),
      }),
    errors: [...DECISION_ERRORS, "not_an_approver", "self_approval_forbidden"],
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => recordReview(caller, input), reviewReply),
);

const reviewReply = (result: CommandResult) => changeReply(result, { verdict: result.record.change.review!.verdict });
