/**
 * Checks that the audit entries of a plan name all its targets: an apply sets all, and a rollback restores all that are still
 * applied. Pure.
 */
import type { ChangeEvent } from "./event.ts";
import type { ChangeState } from "./record.ts";
import { type TargetKey, isSameTarget } from "./target_key.ts";

/** Returns true for an event that names all targets that it must name; `proposal`: the first event of the change. */
export function hasAllPlanTargets(proposal: ChangeEvent, state: ChangeState | undefined, event: ChangeEvent): boolean {
  const { sets: proposed } = proposal.detail;
  const { sets } = event.detail;
  if (event.event_type === "change_applied") return areSameTargets(proposed, sets);
  if (event.event_type !== "change_rolled_back") return true;
  const applied = state?.applied?.sets;
  return areSameTargets(
    applied?.filter(({ rolled_back_at }) => rolled_back_at === undefined),
    sets,
  );
}

/** Compares two lists of targets in any order; a change that is no plan has neither list. */
const areSameTargets = (all: readonly TargetKey[] | undefined, named: readonly TargetKey[] | undefined): boolean =>
  all?.length === named?.length && (all ?? []).every((key) => named!.some((other) => isSameTarget(other, key)));
