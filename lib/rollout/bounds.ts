/**
 * Bounds of how much worse the treated arm is, valid however often they are computed: a half-normal mixture (arXiv 2103.06476).
 * Three safeguards are for small and rare numbers: one more user in each variance (`summarize`), the larger variance for the
 * smaller arm, and a variance that grows with the harm. Positive is worse. `null` means no bound.
 */
import { type Arm, getBounds } from "./arm.ts";
import type { WatchedKpi } from "./plan.ts";

/** Probability of a wrong bound. */
export const ALPHA = 0.05;

/** Precision of the mixture's prior, as a number of users. */
const PRIOR_USERS = 100;

/** Bounds of the difference that are wrong with the probability `risk`. */
export interface Difference {
  /** Returns the least amount by which the treated arm is worse. */
  findLow(risk: number): number | null;
  /** Returns the largest amount by which the treated arm is worse. */
  findHigh(risk: number): number | null;
}

/** Compares two arms in the KPI's unit, or in parts of the control's mean if the allowance is relative. */
export function compare(watched: WatchedKpi, treated: Arm, control: Arm): Difference {
  const effectiveUsers = (treated.n * control.n) / (treated.n + control.n);
  const isUp = watched.good === "up";
  const worsening = isUp ? control.mean - treated.mean : treated.mean - control.mean;
  // The smaller arm may have missed rare values, so its variance counts as at least the other's.
  const larger = Math.max(treated.variance, control.variance);
  const treatedVariance = (treated.n <= control.n ? larger : treated.variance) / treated.n;
  const controlVariance = (control.n <= treated.n ? larger : control.variance) / control.n;
  const distance = distanceFromBest(watched, control);
  // Bounds x: (worsening − unit·x)² = b²·(fixed + slope·unit·x + controlVariance·(1 + sign·x)²); absolute: unit 1, sign 0.
  const isRelative = typeof watched.allowed === "object";
  const [unit, sign] = isRelative ? [control.mean, isUp ? -1 : 1] : [1, 0];
  const findRoots = (b2: number, fixed: number, slope: number) =>
    solve(
      unit * unit - b2 * controlVariance * sign * sign,
      -2 * worsening * unit - b2 * (slope * unit + 2 * sign * controlVariance),
      worsening * worsening - b2 * (fixed + controlVariance),
    );
  const computeSquaredBound = (risk: number) =>
    2 * (1 + PRIOR_USERS / effectiveUsers) * Math.log(1 + Math.sqrt(1 + effectiveUsers / PRIOR_USERS) / (2 * risk));
  const varianceLikeControl = control.variance / treated.n;
  return {
    findLow: (risk) => findRoots(computeSquaredBound(risk), treatedVariance, 0)?.[0] ?? null,
    findHigh(risk) {
      const b2 = computeSquaredBound(risk);
      // The variance of a worse arm may grow, so the larger of both bounds counts.
      const [measured, growing] = [
        findRoots(b2, treatedVariance, 0),
        findRoots(b2, varianceLikeControl, varianceLikeControl / distance),
      ];
      return measured && growing ? Math.max(measured[1], growing[1]) : null;
    },
  };
}

/** Returns the distance of the control's mean from the best possible one: an arm worse by this much is assumed to have twice the variance. */
function distanceFromBest(watched: WatchedKpi, { mean, range, n }: Arm): number {
  const [low, high] = getBounds(watched);
  const [perLow, perHigh] = watched.kind === "ratio" ? watched.per_bounds! : [1, 1];
  const best = watched.good === "up" ? high / perLow : low / perHigh;
  // The added part keeps the distance above 0 if all values so far are the best possible ones.
  return Math.abs(best - mean) + range / (4 * n);
}

/** Returns both roots of a·x² + b·x + c, smaller first; undefined if the interval between them is unbounded. */
function solve(a: number, b: number, c: number): [smaller: number, larger: number] | undefined {
  const square = b * b - 4 * a * c;
  if (!(a > 0) || !(square >= 0)) return undefined;
  const root = Math.sqrt(square);
  return [(-b - root) / (2 * a), (-b + root) / (2 * a)];
}
