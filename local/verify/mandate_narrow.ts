/** Narrowings of a mandate in a certificate: each bound smaller or as it was, and nothing else. */
import { type Detail, isObject, isWhole } from "./json.ts";

type IsNarrower = (before: unknown, after: unknown) => boolean;

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");
const isSubset: IsNarrower = (before, after) =>
  isTexts(before) && isTexts(after) && after.every((one) => before.includes(one));
const isLower: IsNarrower = (before, after) =>
  isWhole(after, 0) && (before === undefined || (isWhole(before, 0) && after <= before));
const isLowerCount: IsNarrower = (before, after) => isWhole(after, 1) && isLower(before, after);
const keepsMembers: IsNarrower = (before = {}, after = undefined) =>
  isObject(before) && isObject(after) && Object.keys(before).every((name) => Object.hasOwn(after, name));

const RULES: ReadonlyMap<string, IsNarrower> = new Map<string, IsNarrower>([
  ["targets", isSubset],
  ["kinds", isSubset],
  ["tenants", (before, after) => (before === "all" ? after === "all" || isTexts(after) : isSubset(before, after))],
  ["limits", keepsMembers],
  ["max_affected_users", isLower],
  ["max_per_day", isLowerCount],
  ["max_open", isLowerCount],
  // The direction of a KPI is not in its bounds: who signed knew it.
  ["kpi_floor", keepsMembers],
  ["until", (before, after) => typeof before === "string" && typeof after === "string" && after <= before],
]);

/** Checks that a narrowing makes no bound wider, as far as the bounds tell. */
export const isNarrowing = (bounds: Detail, narrow: unknown): narrow is Detail =>
  isObject(narrow) && Object.entries(narrow).every(([name, after]) => RULES.get(name)?.(bounds[name], after) === true);
