import * as z from "zod";
import { DECISION_ERRORS, decisionFields, decisionTerms } from "../../lib/changes/decision_declaration.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { recordDecision } from "../../lib/changes/record_decision.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { flag, personName } from "../../lib/http/form.ts";

/** POST /api/product/approve: records consent for a pending change. */
export const approve = endpoint(
  {
    ...decisionTerms,
    path: "/api/product/approve",
    summary: "Give consent to a pending change",
    operation: "approveChange",
    description:
      "Records one person's consent. The change becomes approved once as many have consented as the intent requires; nothing is applied yet.",
    example: { change_id: CHANGE_ID, approver: "ana@acme.example", note: "Checked with support." },
    names: "approver",
    input: () =>
      z.strictObject({
        approver: personName().describe("Who consents; absent: whom the proxy names."),
        ...decisionFields(),
        emergency: flag()
          .optional()
          .describe("Consent under break_glass: needs a note, and passes freeze and windows."),
      }),
    errors: [...DECISION_ERRORS, "already_decided", "not_an_approver", "self_approval_forbidden"],
  },
  ({ approver, ...input }, call: Call<ChangesDeps>) =>
    recordDecision(call, { type: "approve", name: approver, ...input }),
);
