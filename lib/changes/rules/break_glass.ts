/**
 * Break-glass: named people approve in an emergency without quorum, freeze and windows; the approval is reviewed afterwards.
 */
import { AppError } from "../../kit/errors.ts";
import type { Change } from "./change.ts";
import { normalizeName } from "./names.ts";
import {
  isForbiddenSelfApproval,
  type Electorate,
  listElectors,
  isDecider,
  requireDecider,
  listValidApprovals,
} from "./policy.ts";
import { canSign } from "./signing.ts";

/** Counts the valid emergency consents and those that the intent requires; undefined if it has no break-glass. */
export function countEmergencyConsents(
  change: Change,
  intent: Electorate,
): { received: number; needed: number } | undefined {
  if (!intent.policy.break_glass) return undefined;
  const emergencyConsents = listValidApprovals(change, intent).filter(({ emergency }) => emergency);
  const received = new Set(emergencyConsents.map(({ approver }) => normalizeName(approver))).size;
  return { received, needed: intent.policy.break_glass.required };
}

/**
 * Returns true if emergency consents approve a change: they are as many as the current intent requires, and were so when they were
 * given, since the entry that completed them made a review due.
 */
export function isEmergencyApproved(change: Change, intent: Electorate): boolean {
  const emergency = countEmergencyConsents(change, intent);
  return emergency !== undefined && emergency.received >= emergency.needed && change.review !== undefined;
}

/** Requires a person who may consent in an emergency. Errors: 403 `not_an_approver`, `self_approval_forbidden`. */
export function requireEmergencyApprover(change: Change, name: string, intent: Electorate): void {
  if (!intent.policy.break_glass?.approvers.includes(normalizeName(name)))
    throw new AppError("not_an_approver", `${name} is not among those whom the intent names for an emergency`);
  if (isForbiddenSelfApproval(change, name, intent.policy))
    throw new AppError("self_approval_forbidden", `${name} proposed this change and may not approve it`);
}

/** Requires a person who may decide on a change and is not involved. Errors: 403 `not_an_approver`, `self_approval_forbidden`. */
export function requireReviewer(change: Change, name: string, intent: Electorate): void {
  requireDecider(change, name, intent);
  if (isInvolved(change, name, intent))
    throw new AppError("self_approval_forbidden", `${name} had a part in this change and may not review it`);
}

/**
 * Lists the people who may review a change; undefined if the intent lists no approvers: then anybody who is not involved may.
 */
export function listReviewers(change: Change, intent: Electorate): string[] | undefined {
  const owners = intent.policy.owners.flatMap(({ approvers }) => approvers);
  const electors = listElectors(intent);
  const possibleReviewers =
    electors && [...new Set([...electors, ...owners])].filter((name) => canSign(name, intent.policy.signing));
  return possibleReviewers?.filter((name) => isDecider(change, name, intent) && !isInvolved(change, name, intent));
}

/** Returns true for a proposer who may not approve their own change, and for a person who gave an emergency consent. */
const isInvolved = (change: Change, name: string, { policy }: Electorate): boolean =>
  isForbiddenSelfApproval(change, name, policy) ||
  change.approvals.some(({ emergency, approver }) => emergency && normalizeName(approver) === normalizeName(name));
