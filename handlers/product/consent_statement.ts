import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, freeText, personName, time, word } from "../../lib/http/form.ts";
import { consentStatement, statementAnswer } from "../../lib/governance/consent_statement.ts";
import { statementTime } from "../../lib/governance/proof_input.ts";
import { followupFields, proposalFields } from "../../lib/governance/proposal_fields.ts";
import { REVIEW_VERDICTS } from "../../lib/governance/rules/change.ts";
import { ACTS, DECISIONS } from "../../lib/governance/rules/statement.ts";

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
        decision: word([...DECISIONS, ...ACTS]),
        /** Who decides; of a proposal its proposer, of a freeze its actor. */
        approver: personName,
        change_id: changeId.optional(),
        note: freeText(4000).optional(),
        /** Of a review. */
        verdict: word(REVIEW_VERDICTS).optional(),
        /** Of a freeze that ends by itself. */
        until: time.optional(),
        /** Absent: now. */
        at: statementTime.optional(),
        /** What is proposed, in the fields of propose. */
        proposal: z.strictObject(proposalFields(deps)).optional(),
        /** What is proposed, in the fields of propose-crm-followup. */
        followup: z.strictObject(followupFields).optional(),
      }),
    jsonFields: ["proposal", "followup"],
    output: statementAnswer,
    errors: ["change_not_found", "identity_mismatch"],
  },
  (input, call: Call<GovernanceDeps>) => consentStatement(call, input),
);
