/** Gives a share of the users another value of a flagd flag: the present rule is wrapped, and still applies to all others. */
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import { parseStrictJson } from "../../lib/kit/strict_json.ts";
import { BUCKETS } from "../../lib/rollout/bucket.ts";
import type { UserShare } from "../../lib/targets/port.ts";
import { findDefinitionProblem, type Flag } from "./flag_definition.ts";
import { isObject, getOwn } from "./json_object.ts";
import { readMember, setMember } from "./json_text.ts";

/** Returns true for a flag whose variant depends on the context. */
export const isTargeted = ({ targeting }: Flag): boolean => targeting != null && canonicalJson(targeting) !== "{}";

/** Explains why a definition cannot be given to a share of the users. */
export function findGoalProblem({ state, defaultVariant }: Flag): string | undefined {
  if (state !== "ENABLED") return "the definition is disabled: it gives no value to a share of the users";
  return defaultVariant == null ? "the definition has no defaultVariant to give to a share of the users" : undefined;
}

/**
 * Explains why a definition cannot be wrapped around the rule of a flag. `raw` is absent where there is no flag, `goal` if the
 * change names a variant of the flag.
 */
export function findWrapProblem(raw: string | undefined, goal: Flag | undefined): string | undefined {
  if (raw === undefined) return "the flag does not exist: there is no value for the users outside of the share";
  const flag = parseStrictJson(raw) as Flag;
  if (flag.state !== "ENABLED") return "the flag is disabled: enable it before its value is rolled out by steps";
  if (isTargeted(flag) && (!isObject(flag.targeting) || findDefinitionProblem(flag) !== undefined))
    return "the present targeting of the flag is not valid";
  if (!goal) return undefined;
  const names = isTargeted(goal) ? Object.keys(goal.variants) : [goal.defaultVariant!];
  // A targeted definition refers to its variants by name; any other gets a free name (`readGoal`).
  const fixedNames = isTargeted(goal) ? names : [];
  const other = fixedNames.find((name) => !isAbsentOrSame(getOwn(flag.variants, name), goal.variants[name]));
  if (other !== undefined)
    return `its present definition has another value for the variant ${JSON.stringify(other)}; give the new one another name`;
  // Programs request one type; for a variant of another type they would use their default.
  const types = new Set(Object.values(flag.variants).map(typeOf));
  const otherType = names.find((name) => !types.has(typeOf(goal.variants[name])));
  return otherType === undefined
    ? undefined
    : `the variant ${JSON.stringify(otherType)} is ${typeOf(goal.variants[otherType])}, and the flag gives ${[...types].join(", ")}`;
}

/** Returns the type under which programs request a value. */
function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return value === null ? "null" : typeof value;
}

/**
 * Returns the text of a flag that gives a share of the users the variant of `goal`, a definition or the name of a variant of the
 * flag, and everybody else the present value of the flag. The rest of the text does not change.
 */
export function wrapFlag(raw: string, goal: Flag | string, { unit, salt, share }: UserShare): string {
  const flag = parseStrictJson(raw) as Flag;
  const { rule, variants } = typeof goal === "string" ? { rule: goal, variants: {} } : readGoal(flag, goal, salt);
  let text = raw;
  for (const [name, value] of Object.entries(variants))
    if (getOwn(flag.variants, name) === undefined) text = setMember(text, ["variants"], name, JSON.stringify(value));
  const fractional = [{ cat: [salt, { var: unit }] }, ["treated", share], ["control", BUCKETS - share]];
  // Without the attribute every user would be in the bucket of the salt alone.
  const isTreated = { and: [{ var: unit }, { "==": [{ fractional }, "treated"] }] };
  const present = isTargeted(flag) ? readMember(raw, [], "targeting")! : "null";
  const targeting = `{"if":[${JSON.stringify(isTreated)},${JSON.stringify(rule)},${present}]}`;
  return setMember(text, [], "targeting", targeting);
}

/** Returns the rule of a definition within another flag, and the variants that it needs there. */
function readGoal(flag: Flag, goal: Flag, salt: string): { rule: unknown; variants: Flag["variants"] } {
  const fallback = goal.defaultVariant!;
  if (isTargeted(goal)) {
    const { targeting, variants } = goal;
    // A rule without a result gives the default of its own definition, not of the present one.
    return { rule: { if: [{ "==": [targeting, null] }, fallback, targeting] }, variants };
  }
  const value = goal.variants[fallback];
  // The first name that the flag does not use for another value; the salt names this change.
  const name = [fallback, "treated", salt].find((one) => isAbsentOrSame(getOwn(flag.variants, one), value))!;
  return { rule: name, variants: { [name]: value } };
}

/** Checks that a flag has no variant of this name yet, or the same value for it. */
const isAbsentOrSame = (present: unknown, value: unknown): boolean =>
  present === undefined || canonicalJson(present) === canonicalJson(value);
