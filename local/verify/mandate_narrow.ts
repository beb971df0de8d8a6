/** Narrowings of a mandate in a certificate: each bound smaller or as it was, and nothing else. */
import type { Intent } from "./intent.ts";
import { type Detail, isObject, isWhole } from "./json.ts";
import { isCount } from "./plan.ts";
import { areLimitsNarrower } from "./schema_narrow.ts";

/** `directions`: those of the KPIs; undefined where the intent is not known. */
type IsNarrower = (before: unknown, after: unknown, directions?: Intent["directions"]) => boolean;

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");
const isSubset: IsNarrower = (before, after) =>
  isTexts(before) && isTexts(after) && after.every((one) => before.includes(one));
const isLower: IsNarrower = (before, after) =>
  isWhole(after, 0) && (before === undefined || (isWhole(before, 0) && after <= before));
const isLowerCount: IsNarrower = (before, after) => isWhole(after, 1) && isLower(before, after);
const DOWN_IS_GOOD: readonly string[] = ["sales_cycle_days_p50", "incident_rate"];
/** A floor is added, or moved in the direction that is good for its KPI. */
const isHigher: IsNarrower = (before = {}, after = undefined, directions = undefined) =>
  isObject(before) &&
  isObject(after) &&
  Object.entries(before).every(([kpi, floor]) => {
    const moved = Object.hasOwn(after, kpi) ? after[kpi] : undefined;
    if (!isCount(floor) || !isCount(moved)) return false;
    return !directions || (directions.get(kpi) ?? (DOWN_IS_GOOD.includes(kpi) ? -1 : 1)) * (moved - floor) >= 0;
  });

const RULES: ReadonlyMap<string, IsNarrower> = new Map<string, IsNarrower>([
  ["targets", isSubset],
  ["kinds", isSubset],
  ["tenants", (before, after) => (before === "all" ? after === "all" || isTexts(after) : isSubset(before, after))],
  ["limits", areLimitsNarrower],
  ["max_affected_users", isLower],
  ["max_per_day", isLowerCount],
  ["max_open", isLowerCount],
  ["kpi_floor", isHigher],
  ["until", (before, after) => typeof before === "string" && typeof after === "string" && after <= before],
]);

/** Checks that a narrowing makes no bound wider; `directions` are those of the intent that it was signed under. */
export const isNarrowing = (bounds: Detail, narrow: unknown, directions?: Intent["directions"]): narrow is Detail =>
  isObject(narrow) &&
  Object.entries(narrow).every(([name, after]) => RULES.get(name)?.(bounds[name], after, directions) === true);
