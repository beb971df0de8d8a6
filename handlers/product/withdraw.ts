import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, freeText, personName } from "../../lib/http/form.ts";
import { decisionAnswer } from "../../lib/governance/answers.ts";
import { proofFields } from "../../lib/governance/proof_input.ts";
import { recordDecision } from "../../lib/governance/record_decision.ts";

/** POST /api/product/withdraw: the proposer takes a pending change back. */
export const withdraw = endpoint(
  {
    method: "POST",
    path: "/api/product/withdraw",
    summary: "Take back a pending change",
    product: true,
    token: true,
    agents: true,
    names: "proposer",
    input: z.strictObject({
      change_id: changeId,
      proposer: personName,
      note: freeText(4000).optional(),
      ...proofFields,
    }),
    jsonFields: ["proof"],
    output: decisionAnswer,
    errors: [
      "change_not_found",
      "illegal_transition",
      "not_the_proposer",
      "proof_required",
      "proof_invalid",
      "proposer_unknown",
      "identity_mismatch",
      "version_mismatch",
      "idempotency_key_reused",
    ],
  },
  ({ proposer, ...input }, call: Call<GovernanceDeps>) =>
    recordDecision(call, { type: "withdraw", name: proposer, ...input }),
);
