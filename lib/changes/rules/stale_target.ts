/** Checks that the change in force on a target is still the one that was in force at the consent. */
import { AppError } from "../../kit/errors.ts";
import type { Policy } from "./intent.ts";

/** Id of the change in force on a target: its newest applied one, null for none; for a plan, one for each entry, in order. */
export type ChangeInForce = string | null | readonly (string | null)[];

/** The change in force at the last approval, if the log records it, and the one now. Error details call this `target_owner`. */
export interface ChangesInForce {
  before: ChangeInForce | undefined;
  now: ChangeInForce;
}

/** Describes which change is in force instead of the one at the consent; undefined if it is the same, or the log names none. */
export function describeMovedTarget({ before, now }: ChangesInForce): string | undefined {
  if (before === undefined) return undefined;
  const earlier = listChanges(before);
  const current = listChanges(now);
  const moved = current.findIndex((changeId, index) => changeId !== earlier[index]);
  return moved === -1 ? undefined : describeOtherChange(earlier[moved] ?? null, current[moved]!);
}

const listChanges = (inForce: ChangeInForce): readonly (string | null)[] =>
  typeof inForce === "object" && inForce !== null ? inForce : [inForce];

function describeOtherChange(before: string | null, now: string | null): string {
  if (now === null) return `${before}, which the target held at the consent, was rolled back since`;
  return `the target holds ${now} now, and held ${before === null ? "no change" : before} at the consent`;
}

/** Requires the change of the consent to be in force still, if the intent says `on_stale: block`. Errors: 409 `target_moved`. */
export function requireUnmovedTarget(inForce: ChangesInForce, policy: Policy, details?: () => object): void {
  const moved = describeMovedTarget(inForce);
  if (moved === undefined || policy.on_stale === "report") return;
  const message = `${moved}; revoke this change, and propose it again`;
  throw new AppError("target_moved", message, { target_owner: inForce, ...details?.() });
}
