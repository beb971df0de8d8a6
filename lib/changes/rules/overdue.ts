/** Time limits of a change: how long it may wait for consent, and, once approved, for its apply. */
import { AppError } from "../../kit/errors.ts";
import type { Change } from "./change.ts";
import { findDeadline } from "./current_state.ts";
import type { Intent, Policy } from "./intent.ts";
import { type LifecycleAction, listAllowedActions } from "./transitions.ts";

/** Returns the time limit that a change has passed: `expire` while it waits for consent, `lapse` once approved. */
export function findOverdueStep(change: Change, policy: Policy, now: number): "expire" | "lapse" | undefined {
  if (now <= (findDeadline(change, policy) ?? Infinity)) return undefined;
  return change.status === "approved" ? "lapse" : "expire";
}

/** Reasons why a change is overdue, by the step that ends it. */
export const OVERDUE_TEXTS = { expire: "waited for consent", lapse: "was approved and waited for its apply" } as const;

/** Lists the actions that a change allows; an overdue change can be neither approved nor applied. */
export const listAllowedInTime = (
  change: Change,
  { intent, now }: { intent: Intent; now: number },
): LifecycleAction[] =>
  listAllowedActions(change, intent).filter(
    (action) =>
      (action !== "approve" && action !== "apply") || findOverdueStep(change, intent.policy, now) === undefined,
  );

/**
 * Explains why an overdue change is neither approved nor applied; undefined if it is in time. Ten minutes: until `confirmed_time.ts`
 * confirms that the deadline has passed.
 */
export function explainOverdue(change: Change, { intent, now }: { intent: Intent; now: number }): string | undefined {
  const step = findOverdueStep(change, intent.policy, now);
  return (
    step &&
    `it ${OVERDUE_TEXTS[step]} longer than the intent allows, by this service's clock, and is denied when the clock has said so for ten minutes`
  );
}

/** Requires that a change is not overdue. Errors: 400 `illegal_transition`. */
export function requireInTime(change: Change, context: { intent: Intent; now: number }): void {
  const explanation = explainOverdue(change, context);
  if (explanation === undefined) return;
  const { change_id, status } = change;
  throw new AppError("illegal_transition", `${change_id} is ${status}: ${explanation}; propose it again`, {
    change_id,
    current_status: status,
    allowed: listAllowedInTime(change, context),
  });
}
