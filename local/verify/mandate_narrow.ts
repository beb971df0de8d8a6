/** Checks narrowings of a mandate: they may only make bounds stricter. */
import type { Intent } from "./intent.ts";
import { type JsonObject, isObject, isIntegerAtLeast } from "./json.ts";
import { isFiniteNumber } from "./rollout_plan.ts";
import { areLimitsNarrower } from "./schema_narrow.ts";

/** Checks that a bound is not wider than before. `directions`: by KPI, 1 where higher is better; undefined: the intent is not known. */
type IsNarrower = (before: unknown, after: unknown, directions?: Intent["directions"]) => boolean;

const isStringList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");
const isSubset: IsNarrower = (before, after) =>
  isStringList(before) && isStringList(after) && after.every((one) => before.includes(one));
const isLower: IsNarrower = (before, after) =>
  isIntegerAtLeast(after, 0) && (before === undefined || (isIntegerAtLeast(before, 0) && after <= before));
const isLowerCount: IsNarrower = (before, after) => isIntegerAtLeast(after, 1) && isLower(before, after);
/** KPIs of which a lower value is better, if the intent does not name them. */
const DOWN_IS_GOOD: readonly string[] = ["sales_cycle_days_p50", "incident_rate"];
/**
 * Checks that KPI floors were only added, or moved in the direction that is better for their KPI. Without the intent the
 * direction is not known, so any move passes.
 */
const isHigher: IsNarrower = (before = {}, after = undefined, directions = undefined) =>
  isObject(before) &&
  isObject(after) &&
  Object.entries(before).every(([kpi, floor]) => {
    const moved = Object.hasOwn(after, kpi) ? after[kpi] : undefined;
    if (!isFiniteNumber(floor) || !isFiniteNumber(moved)) return false;
    const direction = directions?.get(kpi) ?? (DOWN_IS_GOOD.includes(kpi) ? -1 : 1);
    return !directions || direction * (moved - floor) >= 0;
  });

const RULES: ReadonlyMap<string, IsNarrower> = new Map<string, IsNarrower>([
  ["targets", isSubset],
  ["kinds", isSubset],
  ["tenants", (before, after) => (before === "all" ? after === "all" || isStringList(after) : isSubset(before, after))],
  ["limits", areLimitsNarrower],
  ["max_affected_users", isLower],
  ["max_per_day", isLowerCount],
  ["max_open", isLowerCount],
  ["kpi_floor", isHigher],
  // Times in RFC 3339 and UTC sort as text.
  ["until", (before, after) => typeof before === "string" && typeof after === "string" && after <= before],
]);

/** Checks that a narrowing makes no bound wider; `directions` are those of the intent under which it was signed. */
export const isNarrowing = (
  bounds: JsonObject,
  narrow: unknown,
  directions?: Intent["directions"],
): narrow is JsonObject =>
  isObject(narrow) &&
  Object.entries(narrow).every(([name, after]) => RULES.get(name)?.(bounds[name], after, directions) === true);
