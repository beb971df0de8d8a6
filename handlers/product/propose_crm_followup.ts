import * as z from "zod";
import { propose } from "../../lib/changes/commands/propose.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { proposalAnswer } from "../../lib/http/change_answers.ts";
import { proposalReply } from "../../lib/http/change_replies.ts";
import { proofFields } from "../../lib/http/proof_fields.ts";
import { PROPOSAL_ERRORS, followupFields } from "../../lib/http/proposal_fields.ts";
import { respond } from "../../lib/http/replies.ts";
import { createCrmFollowup } from "../../lib/changes/rules/propose.ts";

/** POST /api/product/propose-crm-followup: proposes the follow-up workflow for one tenant. */
export const proposeCrmFollowup = endpoint(
  {
    method: "POST",
    path: "/api/product/propose-crm-followup",
    summary: "Propose a CRM follow-up",
    operation: "proposeCrmFollowup",
    description: "Proposes a workflow on the target crm.followup; its risk follows from the number of users.",
    example: { tenant_id: "t-100", affected_users: 80, expected_delta_k: 12.5 },
    product: true,
    token: true,
    input: () => z.strictObject({ ...followupFields(), ...proofFields() }),
    jsonFields: ["proof"],
    output: proposalAnswer,
    success: 201,
    errors: PROPOSAL_ERRORS,
  },
  ({ proof, at, ...input }, call: Call<ChangesDeps>) =>
    respond(call, (caller) => propose(caller, { ...createCrmFollowup(input), proof, at }), proposalReply),
);
