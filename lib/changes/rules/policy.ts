/** Rules of the intent about tiers, approvers and counted consents. Pure. */
import { AppError } from "../../kit/errors.ts";
import { type Approval, type Change, RISKS, type Tier } from "./change.ts";
import type { ProposeInput } from "./command.ts";
import type { Intent, Policy } from "./intent.ts";
import { canBeApprover } from "./approver_name.ts";
import { hasGroups } from "./idp_groups.ts";
import {
  type ChangeEntry,
  findCoveredTarget,
  isInScope,
  listEntries,
  listGovernedEntries,
  type Scope,
} from "./list_entries.ts";
import { normalizeName } from "./names.ts";
import { isAgent } from "./principals.ts";
import { canSign, isSignedAsRequired } from "./signing.ts";
import { hasRolloutBounds } from "./stages_rule.ts";

/** The part of an intent that says who may consent. */
export type Electorate = Pick<Intent, "policy" | "principals">;

/** The fields that decide the tier, as the proposer states them; absent means "not stated". */
type TierInput = ChangeEntry &
  Pick<ProposeInput, "kind" | "tier" | "affected_users" | "risk" | "reversible" | "apply_when" | "stages">;

/** Returns the tier of a proposal. It is minor only if the intent covers everything that the proposer stated. */
export function judgeTier(input: TierInput, policy: Policy, minorToday: number): Tier {
  if (input.tier === "major" || explainMajor(input) !== undefined) return "major";
  return input.tier === "minor" && explainNotMinor(input, policy, minorToday) === undefined ? "minor" : "standard";
}

function explainMajor({ reversible, risk }: TierInput): string | undefined {
  if (reversible === false) return "It is not minor: what cannot be undone is major.";
  return risk === "high" ? "It is not minor: a high risk is major." : undefined;
}

/** Explains why a proposal is not minor; undefined if the intent covers it. */
export function explainNotMinor(input: TierInput, policy: Policy, minorToday: number): string | undefined {
  const { kind, affected_users, risk, reversible } = input;
  const major = explainMajor(input);
  if (major) return major;
  const { minor } = policy;
  if (!minor) return "It is not minor: the intent has no rule for minor changes.";
  if (input.apply_when !== undefined && !minor.apply_when)
    return "It is not minor: the intent lets no change that applies by itself be minor.";
  if (input.stages !== undefined && !hasRolloutBounds(policy.stages))
    return "It is not minor: policy.stages does not set watch, fed_by and a max_allowed of each KPI in watch.";
  const missing = [
    reversible === undefined && "`reversible: true`",
    risk === undefined && "`risk`",
    affected_users === undefined && "`affected_users`",
  ].filter(Boolean);
  if (missing.length > 0) return `It is not minor: state ${missing.join(", ")}, since only what you state counts.`;
  // A target that has owners is never changed without their consent.
  const owned = policy.owners.map((rule) => findCoveredTarget(input, rule)).find((target) => target !== undefined);
  if (owned !== undefined) return `It is not minor: ${owned} has owners, who must consent.`;
  if (!minor.kinds.includes(kind)) return `It is not minor: the intent lets no ${kind} be minor.`;
  const uncovered = listGovernedEntries(input).find((entry) => !isInScope(entry, minor));
  if (uncovered)
    return `It is not minor: the intent lets no change of ${uncovered.target}${describeTenant(uncovered, minor)} be minor.`;
  if (affected_users! > (minor.max_affected_users ?? Infinity))
    return `It is not minor: it reaches more than ${minor.max_affected_users} users.`;
  if (RISKS.indexOf(risk!) > RISKS.indexOf(minor.max_risk))
    return `It is not minor: its risk is above ${minor.max_risk}.`;
  if (minorToday + listEntries(input).length > (minor.max_per_day ?? Infinity))
    return `It is not minor: the ${minor.max_per_day} minor changes of this day are used up.`;
  return undefined;
}

/** Names the tenant if the rule applies only to some tenants. */
const describeTenant = ({ tenant_id }: ChangeEntry, { tenants }: Scope): string =>
  tenants ? ` for tenant ${tenant_id}` : "";

/** Returns how many distinct consents a change needs now: at least as many as when it was proposed. */
export const countRequiredConsents = ({ tier, required_approvers }: Change, policy: Policy): number =>
  Math.max(required_approvers, countRequiredApprovers(tier, policy));

/** Returns how many distinct consents a tier needs; 0 for a minor change. */
export const countRequiredApprovers = (tier: Tier, policy: Policy): number =>
  tier === "minor" ? 0 : policy.required_approvers[tier];

/** Requires that the intent does not forbid the targets of a change. Errors: 403 `forbidden_target`. */
export function requireAllowedTarget(change: ChangeEntry, policy: Policy, details?: () => object): void {
  const target = findCoveredTarget(change, { targets: policy.forbidden_targets });
  if (target === undefined) return;
  throw new AppError(
    "forbidden_target",
    `${target} is under the intent's forbidden_targets; it cannot be changed through this service`,
    { ...details?.() },
  );
}

/** Requires a person who may consent to the change. Errors: 403 `not_an_approver`, `self_approval_forbidden`. */
export function requireApprover(change: Change, approver: string, intent: Electorate): void {
  requireDecider(change, approver, intent);
  if (isForbiddenSelfApproval(change, approver, intent.policy))
    throw new AppError("self_approval_forbidden", `${approver} proposed this change and may not approve it`);
}

/** Requires a person who may decide on the change: an approver, or an owner of its target. Errors: 403 `not_an_approver`. */
export function requireDecider(change: Change, name: string, intent: Electorate): void {
  if (isDecider(change, name, intent)) return;
  throw new AppError("not_an_approver", `${name} ${explainNotDecider(name, intent)}`);
}

function explainNotDecider(name: string, intent: Electorate): string {
  if (isAgent(name, intent)) return "is an agent's name, and agents give no consent";
  return canBeApprover(name)
    ? "is not among the intent's approvers"
    : "is no person's name, and only people give consent";
}

/** Returns true if this person may decide on the change. */
export const isDecider = (change: Change, name: string, intent: Electorate): boolean =>
  canDecide(name, intent) || isOwner(change, name, intent);

/** Returns true for an owner of the change's target. An intent cannot name an agent as owner. */
const isOwner = (change: Change, name: string, { policy }: Electorate): boolean =>
  policy.owners.some(
    (rule) => rule.approvers.includes(normalizeName(name)) && findCoveredTarget(change, rule) !== undefined,
  );

/** Returns true if this person may decide on any change. */
export const canDecide = (approver: string, { policy, principals }: Electorate): boolean =>
  canBeApprover(approver) &&
  !isAgent(approver, { principals }) &&
  (policy.approvers === undefined || policy.approvers.includes(normalizeName(approver)));

/** Lists the people who may decide on any change and can sign if necessary; undefined: anybody. */
export function listElectors({ policy, principals }: Electorate): string[] | undefined {
  const { approvers, signing } = policy;
  const names = approvers ?? (signing.signedOnly ? Object.keys(signing.keys) : undefined);
  return names && [...new Set(names)].filter((name) => canSign(name, signing) && !isAgent(name, { principals }));
}

/**
 * Returns true for a consent to one's own proposal under an intent that forbids it. The person who asked a model for a draft
 * counts as its proposer.
 */
export const isForbiddenSelfApproval = ({ proposer, asked_by }: Change, approver: string, policy: Policy): boolean =>
  !policy.self_approval && [proposer, asked_by].some((name) => name && normalizeName(name) === normalizeName(approver));

/** Lists the consents of a change that count under today's intent. */
export const listValidApprovals = (change: Change, intent: Electorate): Approval[] =>
  change.approvals.filter(({ approver, emergency, key, idp }) => {
    const { policy } = intent;
    const isEligible = emergency
      ? policy.break_glass?.approvers.includes(normalizeName(approver))
      : isDecider(change, approver, intent);
    return (
      isEligible &&
      !isForbiddenSelfApproval(change, approver, policy) &&
      isSignedAsRequired({ approver, key }, policy.signing) &&
      hasGroups(approver, idp, intent)
    );
  });
