/** Consent: approve, deny, withdraw, expire. Pure decisions over one change. */
import { AppError } from "../../kit/errors.ts";
import type { Change, Resolution } from "./change.ts";
import type { Policy } from "./intent.ts";
import { sameName } from "./names.ts";
import { isExpired, mayDecide, requireApprover } from "./policy.ts";
import { transition } from "./transitions.ts";

/** Who decides, what they note, and when. */
export interface Deciding {
  name: string;
  note: string;
  at: string;
}

/** The change after a decision, and the word for the decision. */
export interface Decided {
  change: Change;
  decision: "approved" | Resolution;
  /** For the entry: `1 of 2`. */
  progress?: string;
}

/** The name under which the intent's time limit denies. */
export const POLICY_EXPIRY = "policy:expiry";

/** One more consent; the change is approved when enough distinct names have given theirs. */
export function approve(change: Change, { name, note, at }: Deciding, policy: Policy): Decided {
  const approved = transition(change, "approve");
  if (change.approvals.some(({ approver }) => sameName(approver) === sameName(name)))
    throw new AppError("already_decided", `${name} has approved this change already`, {
      current_status: change.status,
    });
  requireApprover(change, name, policy);
  const approvals = [...change.approvals, { approver: name, note, at }];
  const enough = approvals.length >= change.required_approvers;
  return {
    change: {
      ...change,
      status: enough ? approved : change.status,
      approvals,
      approver: name,
      approval_note: note,
      decided_at: enough ? at : null,
    },
    decision: "approved",
    progress: `${approvals.length} of ${change.required_approvers}`,
  };
}

/** One denial is final. */
export function deny(change: Change, deciding: Deciding, policy: Policy): Decided {
  transition(change, "deny");
  if (!mayDecide(deciding.name, policy))
    throw new AppError("not_an_approver", `${deciding.name} is not among the intent's approvers`);
  return close(change, deciding, "denied");
}

/** The proposer takes a change back; where nobody is named as proposer, whoever says so. */
export function withdraw(change: Change, deciding: Deciding): Decided {
  transition(change, "withdraw");
  if (change.proposer !== null && sameName(change.proposer) !== sameName(deciding.name))
    throw new AppError("not_the_proposer", `only ${change.proposer}, who proposed this change, may withdraw it`);
  return close(change, deciding, "withdrawn");
}

/** The denial by the intent's time limit, when it is due. */
export function expire(change: Change, policy: Policy, now: number, at: string): Decided | undefined {
  if (!isExpired(change, policy, now)) return undefined;
  transition(change, "expire");
  return close(
    change,
    { name: POLICY_EXPIRY, note: `no consent within ${policy.consent_ttl_hours} hours`, at },
    "expired",
  );
}

const close = (change: Change, { name, note, at }: Deciding, resolution: Resolution): Decided => ({
  change: { ...change, status: "denied", resolution, approver: name, approval_note: note, decided_at: at },
  decision: resolution,
});
