import * as z from "zod";
import { DECISION_ERRORS, decisionFields, decisionTerms } from "../../lib/changes/decision_declaration.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { recordDecision } from "../../lib/changes/record_decision.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { personName } from "../../lib/http/form.ts";

/** POST /api/product/deny: refuses a pending change; one denial is final. */
export const deny = endpoint(
  {
    ...decisionTerms,
    path: "/api/product/deny",
    summary: "Refuse consent to a pending change",
    operation: "denyChange",
    description: "Closes a pending change for good: one denial is enough.",
    example: { change_id: CHANGE_ID, approver: "ana@acme.example", note: "Too many users before the holidays." },
    names: "approver",
    input: () =>
      z.strictObject({
        approver: personName().describe("Who refuses; absent: whom the proxy names."),
        ...decisionFields(),
      }),
    errors: [...DECISION_ERRORS, "not_an_approver"],
  },
  ({ approver, ...input }, call: Call<ChangesDeps>) => recordDecision(call, { type: "deny", name: approver, ...input }),
);
