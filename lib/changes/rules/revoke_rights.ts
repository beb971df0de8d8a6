/**
 * The people who may revoke an approved change, and words for who may end an open one. Under every intent there is at least one
 * such person.
 */
import { AppError } from "../../kit/errors.ts";
import type { Change } from "./change.ts";
import { normalizeName } from "./names.ts";
import { type Electorate, isDecider, requireDecider } from "./policy.ts";
import { canSign } from "./signing.ts";

/**
 * Requires a person who may revoke: an approver of the change. If none of its approvers can decide any more, or the intent
 * alone approved it, any person who may decide on it. Errors: 403 `not_an_approver`.
 */
export function requireRevoker(change: Change, name: string, intent: Electorate): void {
  if (change.approvals.some(({ approver }) => normalizeName(approver) === normalizeName(name))) return;
  if (change.status === "approved" && listEligibleApprovers(change, intent).length === 0)
    return requireDecider(change, name, intent);
  throw new AppError("not_an_approver", `${name} has not approved this change, and has nothing to take back`);
}

/** Lists the approvers of a change who could still decide on it under the intent. */
function listEligibleApprovers(change: Change, intent: Electorate): string[] {
  const { signing, break_glass } = intent.policy;
  const eligible = change.approvals.filter(
    ({ approver, emergency }) =>
      canSign(approver, signing) &&
      (isDecider(change, approver, intent) ||
        (emergency === true && break_glass !== undefined && break_glass.approvers.includes(normalizeName(approver)))),
  );
  return [...new Set(eligible.map(({ approver }) => approver))];
}

/** Says who may end a change that waits for consent or for its apply. */
export function describeRevokeRights(change: Change, intent: Electorate): string {
  if (change.status === "pending_consent") return "each person who may approve it may deny it";
  const eligible = listEligibleApprovers(change, intent);
  if (eligible.length > 0) return `${eligible.join(", ")} may revoke it`;
  const cause =
    change.approvals.length === 0 ? "nobody approved it but the intent" : "nobody who approved it can decide today";
  return `${cause}: each person who may approve it may revoke it`;
}
