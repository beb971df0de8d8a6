import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, freeText, personName } from "../../lib/http/form.ts";
import { decisionAnswer } from "../../lib/governance/answers.ts";
import { proofFields } from "../../lib/governance/proof_input.ts";
import { recordDecision } from "../../lib/governance/record_decision.ts";

/** POST /api/product/revoke: one who approved takes it back, which closes a change that is not applied. */
export const revoke = endpoint(
  {
    method: "POST",
    path: "/api/product/revoke",
    summary: "Take back one's consent to a change that is not applied",
    product: true,
    token: true,
    names: "approver",
    input: z.strictObject({
      change_id: changeId,
      approver: personName,
      note: freeText(4000).optional(),
      ...proofFields,
    }),
    jsonFields: ["proof"],
    output: decisionAnswer,
    errors: [
      "change_not_found",
      "illegal_transition",
      "not_an_approver",
      "proof_required",
      "proof_invalid",
      "identity_mismatch",
      "operation_in_progress",
      "version_mismatch",
      "idempotency_key_reused",
    ],
  },
  ({ approver, ...input }, call: Call<GovernanceDeps>) =>
    recordDecision(call, { type: "revoke", name: approver, ...input }),
);
