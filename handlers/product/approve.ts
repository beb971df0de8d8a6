import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, flag, freeText, personName } from "../../lib/http/form.ts";
import { decisionAnswer } from "../../lib/governance/answers.ts";
import { proofFields } from "../../lib/governance/proof_input.ts";
import { recordDecision } from "../../lib/governance/record_decision.ts";

/** POST /api/product/approve: records consent for a pending change. */
export const approve = endpoint(
  {
    method: "POST",
    path: "/api/product/approve",
    summary: "Give consent to a pending change",
    product: true,
    token: true,
    names: "approver",
    input: z.strictObject({
      change_id: changeId,
      approver: personName,
      note: freeText(4000).optional(),
      emergency: flag.optional(),
      ...proofFields,
    }),
    jsonFields: ["proof"],
    output: decisionAnswer,
    errors: [
      "change_not_found",
      "illegal_transition",
      "already_decided",
      "not_an_approver",
      "self_approval_forbidden",
      "proof_required",
      "proof_invalid",
      "identity_mismatch",
      "version_mismatch",
      "idempotency_key_reused",
    ],
  },
  ({ approver, ...input }, call: Call<GovernanceDeps>) =>
    recordDecision(call, { type: "approve", name: approver, ...input }),
);
