import * as z from "zod";
import { propose as proposeChange } from "../../lib/changes/commands/propose.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { proposalAnswer } from "../../lib/http/change_answers.ts";
import { proposalReply } from "../../lib/http/change_replies.ts";
import { proofFields } from "../../lib/http/proof_fields.ts";
import { PROPOSAL_ERRORS, proposalChecks, proposalFields } from "../../lib/http/proposal_fields.ts";
import { respond } from "../../lib/http/replies.ts";

/** POST /api/product/propose: proposes a change of any kind. */
export const propose = endpoint(
  {
    method: "POST",
    path: "/api/product/propose",
    summary: "Propose a change",
    operation: "proposeChange",
    description: "Records a change for people to decide; a minor change needs no consent.",
    example: {
      tenant_id: "t-100",
      kind: "config",
      target: "limits.seats",
      value: 50,
      summary: "Raise the seat limit to 50",
      affected_users: 80,
      risk: "low",
      proposer: "bo@acme.example",
    },
    product: true,
    token: true,
    agents: true,
    input: (deps: ChangesDeps) =>
      z.strictObject({ ...proposalFields(deps), ...proofFields() }).check(...proposalChecks()),
    jsonFields: ["value", "sets", "stages", "proof"],
    output: proposalAnswer,
    success: 201,
    errors: PROPOSAL_ERRORS,
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => proposeChange(caller, input), proposalReply),
);
