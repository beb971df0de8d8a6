/** Narrowing a mandate: each bound becomes stricter or stays. Pure. */
import { canonicalJson } from "../../kit/canonical_json.ts";
import { invalidField } from "../../kit/errors.ts";
import type { MandateBounds, MandateLimits } from "./mandate.ts";
import { findWiderKeyword } from "./schema_narrow.ts";
import type { MaxStep } from "./target_rules.ts";

/** The bounds that a narrowing changes; the agent and the beginning stay. */
export type Narrowing = { [K in Exclude<keyof MandateBounds, "agent" | "from">]?: MandateBounds[K] | undefined };

type NarrowingRules = {
  [K in keyof Required<Narrowing>]: (before: MandateBounds[K], after: NonNullable<Narrowing[K]>) => string | undefined;
};

/** Returns +1 if a higher value of a KPI is better, -1 if a lower one is. */
export type FindDirection = (kpi: string) => 1 | -1;

/**
 * Returns the bounds after a narrowing. Without `findDirection`, floors must keep their KPIs, but their values are not compared.
 * Errors: 400 `invalid_field` for a bound that is wider, or if no bound changes.
 */
export function narrowBounds(before: MandateBounds, narrow: Narrowing, findDirection?: FindDirection): MandateBounds {
  const rules = createRules(findDirection);
  for (const field of Object.keys(narrow) as (keyof Narrowing)[]) {
    if (narrow[field] === undefined) continue;
    const rule = rules[field] as ((before: unknown, after: unknown) => string | undefined) | undefined;
    const problem = rule ? rule(before[field], narrow[field]) : "cannot be changed";
    if (problem !== undefined) throw invalidField("narrow", `${field} ${problem}; make a new mandate for more`);
  }
  const stated = Object.fromEntries(Object.entries(narrow).filter(([, value]) => value !== undefined));
  const after: MandateBounds = { ...before, ...stated };
  if (canonicalJson(after) === canonicalJson(before)) throw invalidField("narrow", "changes no bound");
  return after;
}

const checkMaximum = (before: number | undefined, after: number): string | undefined =>
  before !== undefined && after > before ? `must be ${before} or less` : undefined;

const checkSubset = (before: readonly string[], after: readonly string[]): string | undefined => {
  const added = after.find((item) => !before.includes(item));
  return added === undefined ? undefined : `must be some of ${before.join(", ")}, and has ${added}`;
};

const createRules = (findDirection: FindDirection | undefined): NarrowingRules => ({
  targets: checkSubset,
  kinds: checkSubset,
  tenants: (before, after) => {
    if (before === "all") return undefined;
    return after === "all" ? `must be some of ${before.join(", ")}` : checkSubset(before, after);
  },
  limits: checkLimits,
  max_affected_users: checkMaximum,
  max_per_day: checkMaximum,
  max_open: checkMaximum,
  kpi_floor: (before = {}, after) => {
    for (const [kpi, floor] of Object.entries(before)) {
      if (!Object.hasOwn(after, kpi)) return `must keep ${kpi}`;
      const direction = findDirection?.(kpi) ?? 0;
      if (direction * (after[kpi]! - floor) < 0)
        return `${kpi} must be ${floor} or ${direction === 1 ? "more" : "less"}`;
    }
    return undefined;
  },
  until: (before, after) => (Date.parse(after) > Date.parse(before) ? `must be ${before} or earlier` : undefined),
});

function checkLimits(before: MandateLimits | undefined, after: MandateLimits): string | undefined {
  if (before === undefined) return undefined;
  if (before.unit !== after.unit) return "must keep unit as it is";
  if (before.schema) {
    if (!after.schema) return "must keep schema";
    const wider = findWiderKeyword(before.schema, after.schema);
    if (wider !== undefined) return `allows more by ${wider}`;
  }
  if (!before.max_step) return undefined;
  return after.max_step ? checkStep(before.max_step, after.max_step) : "must keep max_step";
}

function checkStep(before: MaxStep, after: MaxStep): string | undefined {
  for (const kind of ["relative", "absolute"] as const) {
    if ((before[kind] === undefined) !== (after[kind] === undefined)) return "must keep the kind of max_step";
    if (before[kind] !== undefined && after[kind]! > before[kind])
      return `max_step.${kind} must be ${before[kind]} or less`;
  }
  // A maximum step over more hours limits more, and so does one that covers more members.
  if (after.hours < before.hours) return `max_step.hours must be ${before.hours} or more`;
  if ((before.members === undefined) !== (after.members === undefined)) return "must keep max_step.members";
  const dropped = before.members?.find((member) => !after.members!.includes(member));
  return dropped === undefined ? undefined : `max_step.members must keep ${dropped}`;
}
