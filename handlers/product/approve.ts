import * as z from "zod";
import { recordDecision } from "../../lib/changes/commands/decide.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { decisionReply } from "../../lib/http/change_replies.ts";
import {
  DECISION_ERRORS,
  decisionFields,
  decisionTerms,
  observedDigestsField,
} from "../../lib/http/decision_declaration.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { flag, personName } from "../../lib/kit/fields.ts";
import { respond } from "../../lib/http/replies.ts";

/** POST /api/product/approve: records consent for a pending change. */
export const approve = endpoint(
  {
    ...decisionTerms,
    jsonFields: ["proof", "seen"],
    path: "/api/product/approve",
    summary: "Give consent to a pending change",
    operation: "approveChange",
    description: "Records one person's consent; the change is approved once enough have consented.",
    example: { change_id: CHANGE_ID, approver: "ana@acme.example", note: "Checked with support." },
    callerField: "approver",
    input: () =>
      z.strictObject({
        approver: personName().describe("Approver; absent: the proxy's person."),
        ...decisionFields(),
        emergency: flag()
          .optional()
          .describe("Consent under break_glass: needs a note, and passes freeze and windows."),
        seen: observedDigestsField().optional().describe("Digests of the values that you saw, in the order of places."),
      }),
    errors: [...DECISION_ERRORS, "already_decided", "not_an_approver", "self_approval_forbidden"],
  },
  ({ approver, ...input }, call: Call<ChangesDeps>) =>
    respond(call, (caller) => recordDecision(caller, { type: "approve", name: approver, ...input }), decisionReply),
);
