import * as z from "zod";
import { recordDecision } from "../../lib/changes/commands/decide.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { decisionReply } from "../../lib/http/change_replies.ts";
import { DECISION_ERRORS, decisionFields, decisionTerms } from "../../lib/http/decision_declaration.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { personName } from "../../lib/kit/fields.ts";
import { respond } from "../../lib/http/replies.ts";

/** POST /api/product/deny: denies a pending change; one denial is final. */
export const deny = endpoint(
  {
    ...decisionTerms,
    path: "/api/product/deny",
    summary: "Deny a pending change",
    operation: "denyChange",
    description: "Closes a pending change; one denial is final.",
    example: { change_id: CHANGE_ID, approver: "ana@acme.example", note: "Too many users before the holidays." },
    callerField: "approver",
    input: () =>
      z.strictObject({
        approver: personName().describe("Person who denies; absent: the proxy's person."),
        ...decisionFields(),
      }),
    errors: [...DECISION_ERRORS, "not_an_approver"],
  },
  ({ approver, ...input }, call: Call<ChangesDeps>) =>
    respond(call, (caller) => recordDecision(caller, { type: "deny", name: approver, ...input }), decisionReply),
);
