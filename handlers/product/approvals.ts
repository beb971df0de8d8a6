import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, wholeNumber } from "../../lib/http/form.ts";
import { changeSchema } from "../../lib/governance/rules/change.ts";
import { gateSchema } from "../../lib/governance/rules/gates.ts";
import { missingSchema } from "../../lib/governance/rules/missing.ts";
import { approvals as approvalsView } from "../../lib/pulse/change_views.ts";
import { answer } from "../../lib/http/answer.ts";

const awaiting = changeSchema
  .pick({
    change_id: true,
    status: true,
    tier: true,
    target: true,
    summary: true,
    expected_delta_k: true,
    affected_users: true,
    proposer_kind: true,
    required_approvers: true,
    approvals: true,
  })
  .extend({ missing: z.array(missingSchema), blocked_by: z.array(gateSchema) });

const toReview = changeSchema.pick({
  change_id: true,
  status: true,
  tier: true,
  target: true,
  summary: true,
  review: true,
});

/** GET /api/product/approvals: what waits for consent and what waits for its apply, oldest first. */
export const approvals = endpoint(
  {
    method: "GET",
    path: "/api/product/approvals",
    summary: "Pending and approved changes",
    product: true,
    input: z.object({ limit: wholeNumber(1, 1000).default(1000), after: changeId.optional() }),
    output: z.object({
      pending: z.array(awaiting),
      approved: z.array(awaiting),
      review_due: z.array(toReview),
      next: z.string().nullable(),
    }),
  },
  async (input, { deps }: Call<GovernanceDeps>) => answer(await approvalsView(deps, input)),
);
