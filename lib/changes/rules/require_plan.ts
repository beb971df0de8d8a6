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
  const stray = Object.entries({ value, stages }).filter(([, given]) => given !== undefined);
  if (stray.length > 0)
    throw invalidFields(stray.map(([field]) => ({ field, message: "does not go with sets: leave it out" })));
  if (sets.length < MIN_ENTRIES || sets.length > MAX_ENTRIES)
    throw invalidField("sets", `must have ${MIN_ENTRIES} to ${MAX_ENTRIES} entries`);
  const valueless = sets.findIndex((entry) => entry.value === undefined);
  if (valueless !== -1) throw invalidField(`sets.${valueless}.value`, "is required");
  const repeated = sets.findIndex((entry, index) => sets.findIndex((one) => isSameTarget(one, entry)) < index);
  if (repeated === -1) return;
  const { tenant_id, target } = sets[repeated]!;
  throw invalidField(`sets.${repeated}`, `sets ${target} of tenant ${tenant_id} a second time`);
}
