/** Reads the plan of a rollout from the content of its change. */
import type { Plan } from "../../lib/rollout/plan.ts";
import { asText, isObject, isWhole } from "./json.ts";

const ADVANCES: ReadonlySet<unknown> = new Set(["budget", "proven", "unless_worse", "manual"]);
const KINDS: ReadonlySet<unknown> = new Set(["binary", "mean", "ratio"]);
const GOOD: ReadonlySet<unknown> = new Set(["up", "down"]);

/** Returns the `stages` of a content where they are a plan whose numbers the rule can take. */
export function readPlan(stages: unknown): Plan | undefined {
  if (!isObject(stages)) return undefined;
  const { steps, watch, max_silent_hours } = stages;
  const isPlan = areAll(steps, isStep) && areAll(watch, isWatched) && isCount(max_silent_hours);
  return isPlan ? (stages as unknown as Plan) : undefined;
}

const areAll = (list: unknown, isOne: (one: unknown) => boolean): boolean =>
  Array.isArray(list) && list.length > 0 && list.every(isOne);

const isStep = (step: unknown): boolean =>
  isObject(step) &&
  isWhole(step["share"], 1) &&
  ADVANCES.has(step["advance"]) &&
  isCount(step["min_hours"]) &&
  (step["min_users"] === undefined || isWhole(step["min_users"], 2));

function isWatched(watched: unknown): boolean {
  if (!isObject(watched)) return false;
  const { kpi, kind, good, allowed, bounds, per_bounds } = watched;
  const isAllowed = isCount(allowed) || (isObject(allowed) && isCount(allowed["relative"]));
  const isBound = kind === "binary" || isPair(bounds);
  const isPerBound = kind !== "ratio" || (isPair(per_bounds) && per_bounds[0] > 0);
  return asText(kpi) !== undefined && KINDS.has(kind) && GOOD.has(good) && isAllowed && isBound && isPerBound;
}

function isPair(bounds: unknown): bounds is [number, number] {
  if (!Array.isArray(bounds) || bounds.length !== 2) return false;
  const [low, high]: unknown[] = bounds;
  return isCount(low) && isCount(high) && low < high;
}

/** Checks that a value is a finite number. */
export const isCount = (value: unknown): value is number => Number.isFinite(value);
