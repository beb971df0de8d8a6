/** The state table of a change: the steps that each status allows, and the status after them. */
import { AppError } from "../../kit/errors.ts";
import { type Change, type Status, STATUSES } from "./change.ts";
import type { Intent } from "./intent.ts";
import { listMissingConsents } from "./missing_consents.ts";
import { isRollingOut } from "./rollout_state.ts";

/** The state table of the specification, with the steps that end an approval. */
const TABLE = {
  approve: { from: ["proposed", "pending_consent"], to: "approved" },
  deny: { from: ["pending_consent"], to: "denied" },
  withdraw: { from: ["pending_consent"], to: "denied" },
  expire: { from: ["pending_consent"], to: "denied" },
  lapse: { from: ["approved"], to: "denied" },
  apply: { from: ["approved"], to: "applied" },
  rollback: { from: ["applied"], to: "rolled_back" },
  revoke: { from: ["pending_consent", "approved"], to: "denied" },
} as const satisfies Record<string, { from: readonly Status[]; to: Status }>;

/** A step of a change. */
export type Step = keyof typeof TABLE;

/** An action on a change. */
export type LifecycleAction = Exclude<Step, "expire" | "lapse">;

/** Returns true if the table has this step from a status. */
export const hasStep = (step: Step, status: Status): boolean =>
  (TABLE[step].from as readonly Status[]).includes(status);

/** Returns true if no step leads out of a status. */
export const isFinal = (status: Status): boolean =>
  !(Object.keys(TABLE) as Step[]).some((step) => hasStep(step, status));

/** The statuses that a step leads out of. */
export const NON_FINAL_STATUSES = STATUSES.filter((status) => !isFinal(status)) as [Status, ...Status[]];

const isAction = (step: Step): step is LifecycleAction => step !== "expire" && step !== "lapse";

/**
 * Lists the actions that a change allows: those of its status, and further consents while a change that is approved or rolling
 * out lacks some.
 */
export const listAllowedActions = (change: Change, intent: Intent): LifecycleAction[] =>
  (Object.keys(TABLE) as Step[]).filter(isAction).filter((action) => isAllowed(change, action, intent));

function isAllowed(change: Change, action: LifecycleAction, intent: Intent): boolean {
  if (action === "approve" && (change.status === "approved" || isRollingOut(change)))
    return listMissingConsents(change, intent).length > 0;
  // Without a consent there is nothing to revoke; the change is denied instead.
  if (action === "revoke" && change.status === "pending_consent") return change.approvals.length > 0;
  return hasStep(action, change.status);
}

/** Returns the status after a step. Errors: 400 `illegal_transition` if the change does not allow it. */
export function requireTransition(change: Change, step: Step, intent: Intent): Status {
  const { change_id, status } = change;
  if (isAction(step) ? isAllowed(change, step, intent) : hasStep(step, status)) return TABLE[step].to;
  const allowed = listAllowedActions(change, intent);
  const next = allowed.length > 0 ? `possible now: ${allowed.join(", ")}` : "nothing further can be done with it";
  throw new AppError("illegal_transition", `cannot ${step} ${change_id}: it is ${status}; ${next}`, {
    change_id,
    current_status: status,
    allowed,
  });
}
