import * as z from "zod";
import { recordDecision } from "../../lib/changes/commands/decide.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { decisionReply } from "../../lib/http/change_replies.ts";
import { DECISION_ERRORS, decisionFields, decisionTerms } from "../../lib/http/decision_declaration.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { personName } from "../../lib/kit/fields.ts";
import { respond } from "../../lib/http/replies.ts";

/** POST /api/product/revoke: an approver revokes their consent, which closes a change that is not applied yet. */
export const revoke = endpoint(
  {
    ...decisionTerms,
    path: "/api/product/revoke",
    summary: "Revoke a consent to a change that is not applied",
    operation: "revokeConsent",
    description: "An approver revokes their consent before the apply; the change is closed as denied.",
    example: { change_id: CHANGE_ID, approver: "ana@acme.example", note: "The figures were of last year." },
    callerField: "approver",
    input: () =>
      z.strictObject({
        approver: personName().describe("Approver; absent: the proxy's person."),
        ...decisionFields(),
      }),
    errors: [...DECISION_ERRORS, "not_an_approver", "operation_in_progress"],
  },
  ({ approver, ...input }, call: Call<ChangesDeps>) =>
    respond(call, (caller) => recordDecision(caller, { type: "revoke", name: approver, ...input }), decisionReply),
);
