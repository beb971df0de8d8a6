import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import {
  changeId,
  finiteNumber,
  flag,
  freeText,
  line,
  personName,
  target,
  wholeNumber,
  word,
} from "../../lib/http/form.ts";
import { submitProposal } from "../../lib/governance/submit_proposal.ts";
import { proposalAnswer } from "../../lib/governance/answers.ts";
import { KINDS, RISKS, TIERS } from "../../lib/governance/rules/change.ts";
import { kpiNames, STANDARD_KPIS } from "../../lib/governance/rules/intent.ts";

/** POST /api/product/propose: proposes a change of any kind. */
export const propose = endpoint(
  {
    method: "POST",
    path: "/api/product/propose",
    summary: "Propose a change",
    product: true,
    token: true,
    agents: true,
    input: ({ product }: GovernanceDeps) =>
      z.strictObject({
        tenant_id: line(200),
        kind: word(KINDS),
        target,
        summary: line(500),
        rationale: freeText(4000).optional(),
        expected_delta_k: finiteNumber.optional(),
        affected_users: wholeNumber(0).optional(),
        reversible: flag.optional(),
        tier: word(TIERS).optional(),
        risk: word(RISKS).optional(),
        value: z.unknown().optional(),
        kpi: word((product ? kpiNames(product.intent) : [...STANDARD_KPIS]) as [string, ...string[]]).optional(),
        proposer: personName.optional(),
        supersedes: changeId.optional(),
      }),
    jsonFields: ["value"],
    output: proposalAnswer,
    success: 201,
    errors: ["forbidden_target", "identity_mismatch", "target_conflict", "idempotency_key_reused"],
  },
  (input, call: Call<GovernanceDeps>) => submitProposal(call, input),
);
