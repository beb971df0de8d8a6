import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, freeText, personName, word } from "../../lib/http/form.ts";
import { consentStatement, statementAnswer } from "../../lib/governance/consent_statement.ts";
import { statementTime } from "../../lib/governance/proof_input.ts";
import { proposalFields } from "../../lib/governance/proposal_fields.ts";

/** POST /api/product/consent-statement: what a decision would have to be signed with; nothing is written. */
export const consentStatementOf = endpoint(
  {
    method: "POST",
    path: "/api/product/consent-statement",
    summary: "What to sign for a decision",
    product: true,
    token: true,
    names: "approver",
    input: (deps: GovernanceDeps) =>
      z.strictObject({
        decision: word(["approve", "approve_emergency", "deny", "withdraw", "revoke", "propose"]),
        /** Who decides; of a proposal its proposer. */
        approver: personName,
        change_id: changeId.optional(),
        note: freeText(4000).optional(),
        /** Absent: now. */
        at: statementTime.optional(),
        /** What is proposed, in the fields of propose. */
        proposal: z.strictObject(proposalFields(deps)).optional(),
      }),
    jsonFields: ["proposal"],
    output: statementAnswer,
    errors: ["change_not_found", "identity_mismatch"],
  },
  (input, call: Call<GovernanceDeps>) => consentStatement(call, input),
);
