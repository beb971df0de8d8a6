/** Time limits of a change: how long it may wait for consent, and approved for its apply. */
import { AppError } from "../../kit/errors.ts";
import type { Change } from "./change.ts";
import { findDeadline } from "./current_state.ts";
import type { Intent, Policy } from "./intent.ts";
import { type LifecycleAction, listAllowedActions } from "./transitions.ts";

/** Which of its time limits a change has passed: it waited too long for consent, or approved for its apply. */
export function findOverdueStep(change: Change, policy: Policy, now: number): "expire" | "lapse" | undefined {
  if (now <= (findDeadline(change, policy) ?? Infinity)) return undefined;
  return change.status === "approved" ? "lapse" : "expire";
}

/** Words for the state in which a change was overdue. */
export const OVERDUE_TEXTS = { expire: "waited for consent", lapse: "was approved and waited for its apply" } as const;

/** Actions that a change allows; while it is overdue, none brings it nearer to its apply. */
export const listAllowedInTime = (
  change: Change,
  { intent, now }: { intent: Intent; now: number },
): LifecycleAction[] =>
  listAllowedActions(change, intent).filter(
    (action) =>
      (action !== "approve" && action !== "apply") || findOverdueStep(change, intent.policy, now) === undefined,
  );

/** Why an overdue change is neither approved nor applied; undefined where it is in time. */
export function explainOverdue(change: Change, { intent, now }: { intent: Intent; now: number }): string | undefined {
  const step = findOverdueStep(change, intent.policy, now);
  return (
    step &&
    `it ${OVERDUE_TEXTS[step]} longer than the intent allows, by this service's clock, and is denied when the clock has said so for ten minutes`
  );
}

/** 400 `illegal_transition` for what would bring an overdue change nearer to its apply. */
export function requireInTime(change: Change, at: { intent: Intent; now: number }): void {
  const explanation = explainOverdue(change, at);
  if (explanation === undefined) return;
  const { change_id, status } = change;
  throw new AppError("illegal_transition", `${change_id} is ${status}: ${explanation}; propose it again`, {
    change_id,
    current_status: status,
    allowed: listAllowedInTime(change, at),
  });
}
