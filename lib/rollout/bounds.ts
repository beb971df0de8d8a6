/**
 * Bounds of how much worse the treated arm is, valid at every look: a half-normal mixture (arXiv 2103.06476) with three
 * safeguards for small and rare numbers. Positive is worse. `null` stands for no bound.
 */
import { type Arm, getBounds } from "./arm.ts";
import type { WatchedKpi } from "./plan.ts";

/** Risk of a wrong bound. */
export const ALPHA = 0.05;

const PRIOR_USERS = 100;

export interface Difference {
  /** Worse by at least so much, at a risk. */
  findLow(risk: number): number | null;
  /** Worse by at most so much, at a risk. */
  findHigh(risk: number): number | null;
}

/** Compares two arms: in the KPI's unit, or in parts of the control's mean where the allowance is relative. */
export function compare(watched: WatchedKpi, treated: Arm, control: Arm): Difference {
  const m = (treated.n * control.n) / (treated.n + control.n);
  const isUp = watched.good === "up";
  const h = isUp ? control.mean - treated.mean : treated.mean - control.mean;
  // The smaller arm has seen too little of the rare values: its variance is at least the other's.
  const larger = Math.max(treated.variance, control.variance);
  const vT = (treated.n <= control.n ? larger : treated.variance) / treated.n;
  const vC = (control.n <= treated.n ? larger : control.variance) / control.n;
  const room = findRoom(watched, control);
  // Both forms are (h − unit·x)² = b²·(fixed + slope·unit·x + vC·(1 + turn·x)²), with the unit 1 and no turn where not relative.
  const isRelative = typeof watched.allowed === "object";
  const [unit, turn] = isRelative ? [control.mean, isUp ? -1 : 1] : [1, 0];
  const roots = (b2: number, fixed: number, slope: number) =>
    solve(
      unit * unit - b2 * vC * turn * turn,
      -2 * h * unit - b2 * (slope * unit + 2 * turn * vC),
      h * h - b2 * (fixed + vC),
    );
  const squareBound = (risk: number) =>
    2 * (1 + PRIOR_USERS / m) * Math.log(1 + Math.sqrt(1 + m / PRIOR_USERS) / (2 * risk));
  const own = control.variance / treated.n;
  return {
    findLow: (risk) => roots(squareBound(risk), vT, 0)?.[0] ?? null,
    findHigh(risk) {
      const b2 = squareBound(risk);
      const [plain, worse] = [roots(b2, vT, 0), roots(b2, own, own / room)];
      return plain && worse ? Math.max(plain[1], worse[1]) : null;
    },
  };
}

/** Distance of the control's mean from the best possible one, which a treated arm's variance grows by as it becomes worse. */
function findRoom(watched: WatchedKpi, { mean, range, n }: Arm): number {
  const [low, high] = getBounds(watched);
  const [perLow, perHigh] = watched.kind === "ratio" ? watched.per_bounds! : [1, 1];
  const best = watched.good === "up" ? high / perLow : low / perHigh;
  return Math.abs(best - mean) + range / (4 * n);
}

/** Returns both roots of a·x² + b·x + c, smaller first; undefined where the values between them have no end. */
function solve(a: number, b: number, c: number): [number, number] | undefined {
  const square = b * b - 4 * a * c;
  if (!(a > 0) || !(square >= 0)) return undefined;
  const root = Math.sqrt(square);
  return [(-b - root) / (2 * a), (-b + root) / (2 * a)];
}
