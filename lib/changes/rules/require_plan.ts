/** Checks the entries of a plan. */
import { invalidField, invalidFields } from "../../kit/errors.ts";
import type { ProposeInput } from "./command.ts";
import { isSameTarget } from "./target_key.ts";

/** Limits on the number of entries of a plan. */
export const MIN_ENTRIES = 2;
export const MAX_ENTRIES = 20;

/** Requires that a plan sets a value at each of its targets, once, and nothing else. Errors: 400 `invalid_field`. */
export function requirePlan({ sets, value, stages }: Pick<ProposeInput, "sets" | "value" | "stages">): void {
  if (!sets) return;
  const conflicting = Object.entries({ value, stages }).filter(([, content]) => content !== undefined);
  if (conflicting.length > 0)
    throw invalidFields(conflicting.map(([field]) => ({ field, message: "does not go with sets: leave it out" })));
  if (sets.length < MIN_ENTRIES || sets.length > MAX_ENTRIES)
    throw invalidField("sets", `must have ${MIN_ENTRIES} to ${MAX_ENTRIES} entries`);
  const withoutValue = sets.findIndex((entry) => entry.value === undefined);
  if (withoutValue !== -1) throw invalidField(`sets.${withoutValue}.value`, "is required");
  const repetition = sets.findIndex((entry, index) => sets.findIndex((other) => isSameTarget(other, entry)) < index);
  if (repetition === -1) return;
  const { tenant_id, target } = sets[repetition]!;
  throw invalidField(`sets.${repetition}`, `sets ${target} of tenant ${tenant_id} a second time`);
}
