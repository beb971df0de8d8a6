/** The part of `stages` that the rule decides by: steps, watched KPIs and their totals. All shares are of 10,000. */
import { BUCKETS } from "./bucket.ts";

/**
 * Condition of an advance. `budget`: the worst effect that is still possible, times the next share, is within `allowed`; `proven`:
 * the change is proven to be no worse than allowed; `unless_worse`: it is not proven to be worse,
 * and each arm has `min_users`; `manual`: a person orders it.
 */
export type Advance = "budget" | "proven" | "unless_worse" | "manual";

export interface Step {
  share: number;
  advance: Advance;
  /** Hours that the step lasts at least. */
  min_hours: number;
  /** Users that each arm needs under `unless_worse`. */
  min_users?: number | undefined;
}

/** The lowest and the highest value that one user can have. */
export type Bounds = readonly [low: number, high: number];

/** A KPI that is watched, and how much worse it may become: in its own unit, or relative to the control's mean. */
export interface WatchedKpi {
  kpi: string;
  kind: "binary" | "mean" | "ratio";
  good: "up" | "down";
  allowed: number | { relative: number };
  /** Bounds at which the feeder cuts each user's value; of a binary KPI 0 and 1. */
  bounds?: Bounds | undefined;
  /** Bounds of each user's denominator, for a ratio. */
  per_bounds?: Bounds | undefined;
}

export interface Plan {
  steps: readonly Step[];
  watch: readonly WatchedKpi[];
  /** Hours after which a KPI that is not fed holds the rollout. */
  max_silent_hours: number;
}

/** Totals of the `n` users of an arm so far: Σx and Σx² of their values, and for a ratio with the denominators y also Σy, Σy², Σxy. */
export interface Totals {
  n: number;
  sum: number;
  sum2?: number | undefined;
  per?: number | undefined;
  per2?: number | undefined;
  cross?: number | undefined;
}

/** Totals of a KPI in a step. */
export interface Cell {
  treated: Totals;
  control: Totals;
}

/** Number of tests that share the risk of a false rollback: each KPI in each step that has a control. The full share has none. */
export const countTests = ({ steps, watch }: Plan): number =>
  steps.filter(({ share }) => share < BUCKETS).length * watch.length;
