import * as z from "zod";
import { findActor } from "../../lib/changes/caller.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import {
  type Preview,
  type PreviewedProposal,
  previewProposal,
  previewSchema,
} from "../../lib/changes/preview_proposal.ts";
import { KINDS } from "../../lib/changes/rules/change.ts";
import { type ValueQuestion, readValuePolicy, valuePolicySchema } from "../../lib/changes/value_policy.ts";
import { answer } from "../../lib/http/answer.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { proposalFields } from "../../lib/http/proposal_fields.ts";
import { line, target, word } from "../../lib/kit/fields.ts";

/** Fields of a proposal that its rules judge. */
const judgedFields = (deps: Pick<ChangesDeps, "product">) => {
  const { tier, risk, affected_users, reversible, kpi, apply_when, proposer } = proposalFields(deps);
  return { tier, risk, affected_users, reversible, kpi, apply_when, proposer };
};

type PreviewInput = ValueQuestion & Partial<Omit<PreviewedProposal, keyof ValueQuestion>>;

function createPreview({ kind, tenant_id = "", ...rest }: PreviewInput, call: Call<ChangesDeps>): Preview | null {
  if (kind === undefined) return null;
  const actor = findActor(call, rest.proposer);
  const proposer = actor.actor ?? undefined;
  return previewProposal({ ...rest, kind, tenant_id, proposer }, actor, call.deps.product!.intent);
}

/** GET /api/product/policy: the rules for the values of a target and the numbers that they allow now, and a preview of a proposal. */
export const policy = endpoint(
  {
    method: "GET",
    path: "/api/product/policy",
    summary: "Rules for the values of a target",
    operation: "getPolicy",
    description: "Schemas and limits for a value of this target; with kind, tier and consents of a proposal.",
    example: { target: "limits.seats", tenant_id: "t-100" },
    ownReads: "filtered",
    product: true,
    input: (deps: ChangesDeps) =>
      z.object({
        target: target().describe("Target of the change."),
        tenant_id: line(200).optional().describe("Tenant of the target; absent: the answer has no numbers."),
        kind: word(KINDS).optional().describe("The kind of change; absent: no preview."),
        ...judgedFields(deps),
      }),
    output: () =>
      valuePolicySchema().extend({
        preview: previewSchema().nullable().describe("Result of the rules for this proposal; null without kind."),
      }),
  },
  async (input, call: Call<ChangesDeps>) =>
    answer({ ...(await readValuePolicy(call.deps, input)), preview: createPreview(input, call) }),
);
