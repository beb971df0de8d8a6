import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { submitProposal } from "../../lib/changes/submit_proposal.ts";
import { proposalAnswer } from "../../lib/changes/answers.ts";
import { proofFields } from "../../lib/changes/proof_input.ts";
import { PROPOSAL_ERRORS, followupFields } from "../../lib/changes/proposal_fields.ts";
import { crmFollowup } from "../../lib/changes/rules/propose.ts";

/** POST /api/product/propose-crm-followup: proposes the follow-up workflow for one tenant. */
export const proposeCrmFollowup = endpoint(
  {
    method: "POST",
    path: "/api/product/propose-crm-followup",
    summary: "Propose a CRM follow-up",
    operation: "proposeCrmFollowup",
    description:
      "Proposes a change of kind workflow on the target crm.followup; its risk follows from the number of users.",
    example: { tenant_id: "t-100", affected_users: 80, expected_delta_k: 12.5 },
    product: true,
    token: true,
    input: () => z.strictObject({ ...followupFields(), ...proofFields() }),
    jsonFields: ["proof"],
    output: proposalAnswer,
    success: 201,
    errors: PROPOSAL_ERRORS,
  },
  ({ proof, at, ...input }, call: Call<ChangesDeps>) => submitProposal(call, { ...crmFollowup(input), proof, at }),
);
