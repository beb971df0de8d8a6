/** Computes mean and variance of one arm from its totals, and detects impossible totals. */
import type { Bounds, Totals, WatchedKpi } from "./plan.ts";

/** An arm as the rule compares it. */
export interface Arm {
  n: number;
  mean: number;
  /** Variance of a user's value, as if the value of one more user were half the range from the mean. */
  variance: number;
  /** Range of a user's value. */
  range: number;
}

/** Returns the lowest and the highest value of a user. */
export const getBounds = ({ kind, bounds }: WatchedKpi): Bounds => (kind === "binary" ? [0, 1] : bounds!);

/** Summarizes possible totals. A ratio is linearized around its mean: x − mean·y, in units of the mean y. */
export function summarize(watched: WatchedKpi, { n, sum, per = n, per2 = 0, cross = 0, ...sums }: Totals): Arm {
  // The square of a success is 1, so the sum of squares is not needed.
  const sum2 = watched.kind === "binary" ? sum : sums.sum2!;
  const [low, high] = getBounds(watched);
  if (watched.kind !== "ratio") {
    const range = high - low;
    return { n, mean: sum / n, variance: (sum2 - (sum * sum) / n + (range * range) / 4) / n, range };
  }
  const [perLow, perHigh] = watched.per_bounds!;
  const [mean, perUser] = [sum / per, per / n];
  const squares = (sum2 - 2 * mean * cross + mean * mean * per2) / (perUser * perUser);
  const range = (high - low + mean * (perHigh - perLow)) / perUser;
  return { n, mean, variance: (squares + (range * range) / 4) / n, range };
}

/** Explains why totals are impossible; undefined if they are possible. A missing sum is NaN, with which `isAtMost` is false. */
export function findImpossibleTotals(
  watched: WatchedKpi,
  { n, sum, sum2 = NaN, per = NaN, per2 = NaN, cross = NaN }: Totals,
): string | undefined {
  if (watched.kind === "binary" && sum < 0) return "fewer successes than none";
  if (watched.kind === "binary") return sum > n ? "more successes than users" : undefined;
  const problem = findOutOfBounds("sum", n, sum, sum2, getBounds(watched));
  if (problem !== undefined || watched.kind === "mean") return problem;
  const perProblem = findOutOfBounds("per", n, per, per2, watched.per_bounds!);
  if (perProblem !== undefined) return perProblem;
  return isAtMost(cross * cross, sum2 * per2) ? undefined : "cross is beyond what the sums of squares allow";
}

function findOutOfBounds(name: string, n: number, sum: number, sum2: number, [low, high]: Bounds): string | undefined {
  if (!isAtMost(n * low, sum) || !isAtMost(sum, n * high)) return `${name} is outside the bounds of ${n} users`;
  if (!isAtMost((sum * sum) / n, sum2)) return `${name}2 is less than equal values would give`;
  if (!isAtMost(sum2, (low + high) * sum - n * low * high))
    return `${name}2 is more than values within the bounds give`;
  return undefined;
}

/** Compares up to 9 digits, since feeders add up floating-point numbers; false for NaN. */
const isAtMost = (value: number, limit: number): boolean =>
  value - limit <= 1e-9 * Math.max(Math.abs(value), Math.abs(limit));
