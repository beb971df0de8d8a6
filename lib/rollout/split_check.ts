/** Checks that the counted users of both arms are in the proportion of the share, valid however often it is computed. */
import { BUCKETS } from "./bucket.ts";

/** Probability of reporting a correct split as a mismatch, over all KPIs and steps. */
export const MISMATCH_RISK = 0.01;

/** Shifts of the log odds from the right proportion to the wrong ones that are tested. */
const TILTS = Array.from({ length: 8 }, (_, power) => 2 ** -power).flatMap((tilt) => [tilt, -tilt]);

/**
 * Returns the logarithm of the evidence against the split: the mean of likelihood ratios, each for another wrong proportion.
 * `share`: the intended share of treated users, in units of 1 / `BUCKETS`.
 */
export function findMismatch(treated: number, control: number, share: number): number {
  const p = share / BUCKETS;
  // The subtracted logarithm is log(1 − p + p·e^tilt), which makes the tilted proportions add up to 1.
  const logs = TILTS.map((tilt) => tilt * treated - (treated + control) * Math.log1p(p * Math.expm1(tilt)));
  // `max` is factored out of the mean, since the ratios themselves could overflow.
  const max = Math.max(...logs);
  return max + Math.log(logs.reduce((sum, log) => sum + Math.exp(log - max), 0) / logs.length);
}
