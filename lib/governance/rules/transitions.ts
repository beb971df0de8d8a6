/** The state table of the specification. */
import { AppError } from "../../kit/errors.ts";
import type { Change, Status } from "./change.ts";

const TABLE = {
  approve: { from: ["proposed", "pending_consent"], to: "approved" },
  deny: { from: ["pending_consent"], to: "denied" },
  withdraw: { from: ["pending_consent"], to: "denied" },
  expire: { from: ["pending_consent"], to: "denied" },
  apply: { from: ["approved"], to: "applied" },
  rollback: { from: ["applied"], to: "rolled_back" },
} as const satisfies Record<string, { from: readonly Status[]; to: Status }>;

/** What may be asked of a change. */
export type Action = Exclude<keyof typeof TABLE, "expire">;

const isFrom = (action: keyof typeof TABLE, status: Status): boolean =>
  (TABLE[action].from as readonly Status[]).includes(status);

/** The actions that a status allows. */
export const allowedActions = (status: Status): Action[] =>
  (Object.keys(TABLE) as (keyof typeof TABLE)[]).filter(
    (action): action is Action => action !== "expire" && isFrom(action, status),
  );

/** The status that an action leads to; 400 `illegal_transition` where the table has no such row. */
export function transition(change: Pick<Change, "change_id" | "status">, action: keyof typeof TABLE): Status {
  if (isFrom(action, change.status)) return TABLE[action].to;
  const allowed = allowedActions(change.status);
  const next = allowed.length > 0 ? `it may be asked to ${allowed.join(", ")}` : "nothing further can be done with it";
  throw new AppError("illegal_transition", `cannot ${action} ${change.change_id}: it is ${change.status}; ${next}`, {
    change_id: change.change_id,
    current_status: change.status,
    allowed,
  });
}
