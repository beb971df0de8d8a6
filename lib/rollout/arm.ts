/** Totals of one arm as mean and variance, and totals that cannot be. */
import type { Bounds, Totals, WatchedKpi } from "./plan.ts";

/** An arm as the rule sees it. */
export interface Arm {
  n: number;
  mean: number;
  /** Variance of a user's value, as if one more user lay half the range off. */
  variance: number;
  /** Range of a user's value. */
  range: number;
}

/** Returns the lowest and the highest value of a user. */
export const getBounds = ({ kind, bounds }: WatchedKpi): Bounds => (kind === "binary" ? [0, 1] : bounds!);

/** Returns the arm of totals that are possible. A ratio is linear around its mean: x − mean·y, in units of the mean y. */
export function summarize(watched: WatchedKpi, { n, sum, per = n, per2 = 0, cross = 0, ...stated }: Totals): Arm {
  // A success is 1, and so is its square, whatever is stated.
  const sum2 = watched.kind === "binary" ? sum : stated.sum2!;
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

/** Says why totals cannot be; undefined where they can. Square sums that are absent cannot be. */
export function findImpossibleTotals(
  watched: WatchedKpi,
  { n, sum, sum2 = NaN, per = NaN, per2 = NaN, cross = NaN }: Totals,
): string | undefined {
  if (watched.kind === "binary")
    return sum < 0 ? "fewer successes than none" : sum > n ? "more successes than users" : undefined;
  const problem = findOutOfBounds("sum", n, sum, sum2, getBounds(watched));
  if (problem !== undefined || watched.kind === "mean") return problem;
  return (
    findOutOfBounds("per", n, per, per2, watched.per_bounds!) ??
    (isAtMost(cross * cross, sum2 * per2) ? undefined : "cross is beyond what the sums of squares allow")
  );
}

function findOutOfBounds(name: string, n: number, sum: number, sum2: number, [low, high]: Bounds): string | undefined {
  if (!isAtMost(n * low, sum) || !isAtMost(sum, n * high)) return `${name} is outside the bounds of ${n} users`;
  if (!isAtMost((sum * sum) / n, sum2)) return `${name}2 is less than equal values would give`;
  if (!isAtMost(sum2, (low + high) * sum - n * low * high))
    return `${name}2 is more than values within the bounds give`;
  return undefined;
}

/** Compares up to 9 digits, since feeders add up floating-point numbers; false for what is no number. */
const isAtMost = (value: number, limit: number): boolean =>
  value - limit <= 1e-9 * Math.max(Math.abs(value), Math.abs(limit));
