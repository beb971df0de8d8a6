/** How a change is closed that cannot go on, and by whom: nobody is locked out by rules that came after its consents. */
import { AppError } from "../../kit/errors.ts";
import type { Change } from "./change.ts";
import { sameName } from "./names.ts";
import { type Electorate, isDecider, requireDecider } from "./policy.ts";
import { canSign } from "./signing.ts";

/**
 * 403 unless this person may close the change by revoking: one who approved it, and where none of those can decide today, or
 * the intent alone approved it, each person who may decide on it.
 */
export function requireRevoker(change: Change, name: string, intent: Electorate): void {
  if (change.approvals.some(({ approver }) => sameName(approver) === sameName(name))) return;
  if (change.status === "approved" && ableApprovers(change, intent).length === 0)
    return requireDecider(change, name, intent);
  throw new AppError("not_an_approver", `${name} has not approved this change, and has nothing to take back`);
}

/** Those who approved it, and whose decision can count today. */
function ableApprovers(change: Change, intent: Electorate): string[] {
  const { signing, break_glass } = intent.policy;
  const able = change.approvals.filter(
    ({ approver, emergency }) =>
      canSign(approver, signing) &&
      (isDecider(change, approver, intent) ||
        (emergency === true && break_glass !== undefined && break_glass.approvers.includes(sameName(approver)))),
  );
  return [...new Set(able.map(({ approver }) => approver))];
}

/** Who may end it that waits for consent or for its apply, in words. */
export function wayOut(change: Change, intent: Electorate): string {
  if (change.status === "pending_consent") return "each person who may approve it may deny it";
  const able = ableApprovers(change, intent);
  if (able.length > 0) return `${able.join(", ")} may revoke it`;
  const why =
    change.approvals.length === 0 ? "nobody approved it but the intent" : "nobody who approved it can decide today";
  return `${why}: each person who may approve it may revoke it`;
}
