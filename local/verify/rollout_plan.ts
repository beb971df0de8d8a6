/** Reads the plan of a rollout from the content of its change. */
import type { Plan } from "../../lib/rollout/plan.ts";
import { stringOrUndefined, isObject, isIntegerAtLeast } from "./json.ts";

const ADVANCES: ReadonlySet<unknown> = new Set(["budget", "proven", "unless_worse", "manual"]);
const KINDS: ReadonlySet<unknown> = new Set(["binary", "mean", "ratio"]);
const GOOD: ReadonlySet<unknown> = new Set(["up", "down"]);

/** Returns the `stages` of a content if they are a plan whose numbers the rule of rollouts can use. */
export function readPlan(stages: unknown): Plan | undefined {
  if (!isObject(stages)) return undefined;
  const { steps, watch, max_silent_hours } = stages;
  const isPlan = isFilledList(steps, isStep) && isFilledList(watch, isWatched) && isFiniteNumber(max_silent_hours);
  return isPlan ? (stages as unknown as Plan) : undefined;
}

const isFilledList = (list: unknown, isMember: (one: unknown) => boolean): boolean =>
  Array.isArray(list) && list.length > 0 && list.every(isMember);

const isStep = (step: unknown): boolean =>
  isObject(step) &&
  isIntegerAtLeast(step["share"], 1) &&
  ADVANCES.has(step["advance"]) &&
  isFiniteNumber(step["min_hours"]) &&
  (step["min_users"] === undefined || isIntegerAtLeast(step["min_users"], 2));

function isWatched(watched: unknown): boolean {
  if (!isObject(watched)) return false;
  const { kpi, kind, good, allowed, bounds, per_bounds } = watched;
  // In the KPI's own unit, or relative to the control's mean.
  const hasAllowed = isFiniteNumber(allowed) || (isObject(allowed) && isFiniteNumber(allowed["relative"]));
  // A binary KPI needs no bounds: its values are 0 and 1.
  const hasBounds = kind === "binary" || isPair(bounds);
  // A ratio divides by values within these bounds.
  const hasPerBounds = kind !== "ratio" || (isPair(per_bounds) && per_bounds[0] > 0);
  return (
    stringOrUndefined(kpi) !== undefined && KINDS.has(kind) && GOOD.has(good) && hasAllowed && hasBounds && hasPerBounds
  );
}

function isPair(bounds: unknown): bounds is [number, number] {
  if (!Array.isArray(bounds) || bounds.length !== 2) return false;
  const [low, high]: unknown[] = bounds;
  return isFiniteNumber(low) && isFiniteNumber(high) && low < high;
}

/** Checks that a value is a finite number. */
export const isFiniteNumber = (value: unknown): value is number => Number.isFinite(value);
