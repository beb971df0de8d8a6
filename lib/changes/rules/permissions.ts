/** Who may do what apart from deciding on a change. */
import { AppError } from "../../kit/errors.ts";
import { sameName } from "./names.ts";
import type { Electorate } from "./policy.ts";
import type { Act } from "./act_statement.ts";

/** What is done under a name that an intent may reserve. */
export type Action = Act | "note" | "restore";

/** Actions that take back a brake or remove evidence: without a list of their own they are for those who may approve. */
const FOR_APPROVERS: ReadonlySet<Action> = new Set(["unfreeze", "erase", "accept_clock", "accept_loss"]);

/** The names that may do this; undefined: every authorised caller. */
export function permittedNames(action: Action, { policy }: Electorate): string[] | undefined {
  const { approvers, break_glass } = policy;
  if (!FOR_APPROVERS.has(action) || approvers === undefined) return undefined;
  return [...new Set([...approvers, ...(break_glass?.approvers ?? [])])];
}

/** 403 `not_permitted` for everybody whom the intent does not let do this, also where nobody is named. */
export function requirePermission(action: Action, name: string | null, intent: Electorate): void {
  const names = permittedNames(action, intent);
  if (names === undefined || (name !== null && names.includes(sameName(name)))) return;
  const who = name === null ? "nobody is named in actor" : `${name} is neither`;
  throw new AppError(
    "not_permitted",
    `${action} is for an approver or an emergency approver of the intent, and ${who}; ask one of: ${names.join(", ")}`,
    { action },
  );
}
