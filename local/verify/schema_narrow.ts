/** Verifies that a mandate's limits only became stricter: no keyword was removed or relaxed, and no maximum step is wider. */
import { type JsonObject, isObject } from "./json.ts";
import { canonicalText } from "./mandate_statement.ts";
import { isMultiple } from "./multiple.ts";
import { isFiniteNumber } from "./rollout_plan.ts";

/** Checks that a keyword's argument is at least as strict as before. */
type IsAsStrict = (before: unknown, after: unknown) => boolean;

const isSame: IsAsStrict = (before, after) => canonicalText(before ?? null) === canonicalText(after ?? null);
const compareNumbers =
  (holds: (before: number, after: number) => boolean): IsAsStrict =>
  (before, after) =>
    isFiniteNumber(before) && isFiniteNumber(after) && holds(before, after);
const atLeast = compareNumbers((before, after) => after >= before);
const atMost = compareNumbers((before, after) => after <= before);
const toList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value]);
/** Checks that nothing was added; with swapped arguments, that nothing was removed. */
const isAmong: IsAsStrict = (before, after) =>
  toList(after).every((one) => toList(before).some((other) => isSame(one, other)));

const KEYWORDS: ReadonlyMap<string, IsAsStrict> = new Map<string, IsAsStrict>([
  [
    "type",
    (before, after) => {
      const allowed = toList(before);
      return toList(after).every((one) => allowed.includes(one) || (one === "integer" && allowed.includes("number")));
    },
  ],
  ["enum", (before, after) => Array.isArray(before) && Array.isArray(after) && isAmong(before, after)],
  ["const", isSame],
  ["pattern", isSame],
  ...["minimum", "exclusiveMinimum", "minLength", "minItems"].map((one) => [one, atLeast] as const),
  ...["maximum", "exclusiveMaximum", "maxLength", "maxItems"].map((one) => [one, atMost] as const),
  ["multipleOf", compareNumbers((before, after) => before > 0 && after > 0 && isMultiple(after, before))],
  ["items", isSchemaNarrower],
  ["uniqueItems", (before, after) => before === false || after === true],
  ["required", (before, after) => Array.isArray(before) && Array.isArray(after) && isAmong(after, before)],
  [
    "properties",
    (before, after) =>
      isObject(before) &&
      isObject(after) &&
      Object.keys(before).every((name) => Object.hasOwn(after, name) && isSchemaNarrower(before[name], after[name])),
  ],
  [
    "additionalProperties",
    (before, after) =>
      before === true || after === false || (isObject(before) && isObject(after) && isSchemaNarrower(before, after)),
  ],
]);

function isSchemaNarrower(before: unknown, after: unknown): boolean {
  if (!isObject(before) || !isObject(after)) return false;
  // A keyword that is not in the list cannot be compared, so it counts as relaxed.
  const isEachAsStrict = Object.keys(before).every(
    (keyword) => Object.hasOwn(after, keyword) && KEYWORDS.get(keyword)?.(before[keyword], after[keyword]) === true,
  );
  if (!isEachAsStrict) return false;
  // `additionalProperties` no longer applies to a property that got its own schema, so that schema must be as strict.
  const { additionalProperties: others = true, properties } = before;
  if (others === true || !isObject(after["properties"])) return true;
  const members = after["properties"];
  return Object.keys(members)
    .filter((name) => !(isObject(properties) && Object.hasOwn(properties, name)))
    .every((name) => others !== false && isSchemaNarrower(others, members[name]));
}

/** Checks a maximum step; its kinds of bound, and having `members`, stay as they were. */
function isStepNarrower(before: JsonObject, after: JsonObject): boolean {
  const isBoundAsStrict = (kind: string): boolean =>
    before[kind] === undefined ? after[kind] === undefined : atMost(before[kind], after[kind]);
  const areMembersAsStrict =
    before["members"] === undefined
      ? after["members"] === undefined
      : Array.isArray(after["members"]) && isAmong(after["members"], before["members"]);
  // A maximum over more hours, and for more members, limits more.
  return (
    isBoundAsStrict("relative") &&
    isBoundAsStrict("absolute") &&
    atLeast(before["hours"], after["hours"]) &&
    areMembersAsStrict
  );
}

/** Checks that limits allow no value or step that the limits before excluded; undefined `before`: there were no limits. */
export function areLimitsNarrower(before: unknown, after: unknown): boolean {
  if (!isObject(after)) return false;
  if (before === undefined) return true;
  if (!isObject(before) || !isSame(before["unit"], after["unit"])) return false;
  const { schema, max_step } = before;
  if (schema !== undefined && !isSchemaNarrower(schema, after["schema"])) return false;
  if (max_step === undefined) return true;
  return isObject(max_step) && isObject(after["max_step"]) && isStepNarrower(max_step, after["max_step"]);
}
