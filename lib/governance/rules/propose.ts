/** A new change: its tier, who must consent, and its first entry. */
import type { Sha256 } from "../../kit/platform.ts";
import { AppError, invalidField } from "../../kit/errors.ts";
import { type Change, type Content, digestOf, type Kind, type Risk, type Tier } from "./change.ts";
import type { ProductRuntime } from "../runtime.ts";
import type { LiveTarget } from "../records.ts";
import { refuseForbiddenTarget, requiredApprovers, tierOf } from "./policy.ts";

/** What a proposer may state; absent is "not stated". */
export interface ProposeInput {
  tenant_id: string;
  kind: Kind;
  target: string;
  summary: string;
  rationale?: string | undefined;
  expected_delta_k?: number | undefined;
  affected_users?: number | undefined;
  reversible?: boolean | undefined;
  tier?: Tier | undefined;
  risk?: Risk | undefined;
  value?: unknown;
  kpi?: string | undefined;
  proposer?: string | undefined;
}

/** What the decision needs to know beside the input. */
export interface ProposeContext {
  product: Pick<ProductRuntime, "intent" | "manifest_hash">;
  sha256: Sha256;
  changeId: string;
  at: string;
  /** Minor changes granted on this UTC day. */
  minorToday: number;
  /** Other live changes of the same tenant and target. */
  live: LiveTarget;
}

/** The name that stands for the intent's own consent to a minor change. */
export const POLICY_MINOR = "policy:minor";

/** Decides what becomes of a proposal. Errors: 403 `forbidden_target`, 400 `invalid_field`, 409 `target_conflict`. */
export function propose(
  input: ProposeInput,
  context: ProposeContext,
): { change: Change; detail: Record<string, unknown> } {
  const { policy } = context.product.intent;
  const tier = tierOf(input, policy, context.minorToday);
  const minor = tier === "minor";
  if (!minor && !policy.self_approval && input.proposer === undefined)
    throw invalidField("proposer", "is required: the intent forbids self-approval");
  refuseForbiddenTarget(input.target, policy);
  if (policy.on_conflict === "block" && context.live.count > 0)
    throw new AppError(
      "target_conflict",
      `another live change is on ${input.target} of this tenant; decide that one first`,
      {
        conflicts: context.live.ids,
      },
    );

  const content: Content = {
    tenant_id: input.tenant_id,
    kind: input.kind,
    target: input.target,
    ...(input.value === undefined ? {} : { value: input.value }),
    summary: input.summary,
    rationale: input.rationale ?? "",
    expected_delta_k: input.expected_delta_k ?? null,
    affected_users: input.affected_users ?? null,
    reversible: input.reversible ?? true,
    tier,
    risk: input.risk ?? "medium",
    kpi: input.kpi ?? null,
    proposer: input.proposer ?? null,
  };
  const digest = digestOf(content, context.sha256);
  const change: Change = {
    change_id: context.changeId,
    ...content,
    status: minor ? "approved" : "pending_consent",
    resolution: null,
    created_at: context.at,
    approver: minor ? POLICY_MINOR : null,
    approval_note: null,
    approvals: [],
    required_approvers: requiredApprovers(tier, policy),
    decided_at: minor ? context.at : null,
    applied_at: null,
    rolled_back_at: null,
    digest,
    revision: 0,
  };
  const detail = {
    status: change.status,
    kind: change.kind,
    target: change.target,
    tier,
    tier_asked: input.tier ?? null,
    risk: change.risk,
    proposer: change.proposer,
    approver: change.approver,
    required_approvers: change.required_approvers,
    digest,
    manifest_hash: context.product.manifest_hash,
  };
  return { change, detail };
}

/** The specification's example of a workflow change: a follow-up for the customers of one tenant. */
export function crmFollowup(input: {
  tenant_id: string;
  affected_users: number;
  expected_delta_k: number;
  proposer?: string | undefined;
}): ProposeInput {
  const { affected_users, expected_delta_k } = input;
  return {
    ...input,
    kind: "workflow",
    target: "crm.followup",
    summary: `Follow up with ${affected_users} customers`,
    rationale: `A follow-up to ${affected_users} customers is expected to gain ${expected_delta_k}.`,
    reversible: true,
    risk: affected_users <= 100 ? "low" : affected_users <= 10_000 ? "medium" : "high",
    value: { enabled: true, affected_users, expected_delta_k },
  };
}
