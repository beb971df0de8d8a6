/** Users of simulated products, whose values are sampled from blocks of users that were drawn in advance. */
import type { Totals, WatchedKpi } from "../../lib/rollout/plan.ts";

/** Totals with the sums of every kind of KPI. */
export type Sums = { [Name in keyof Totals]-?: number };

/** Uniform numbers from 0 to below 1. */
export type Uniform = () => number;

/** Returns a seeded generator of random numbers (sfc32). */
export function uniform(seed: number): Uniform {
  let [a, b, c, d] = [seed | 0, 0x9e3779b9, 0x243f6a88, 1];
  const next = (): number => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let round = 0; round < 15; round += 1) next();
  return next;
}

/** Returns a number of the standard normal distribution (Box-Muller). The logarithm gets a number above 0. */
export const normal = (next: Uniform): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());

/** Draws a user: the value `x`, and for a ratio its denominator `y`. */
export type DrawUser = (next: Uniform) => readonly [x: number, y?: number];

/** Number of users in a block. */
const BLOCK = 64;
const BLOCKS = 4000;
/** Number of sums of a block: Σx, Σx², Σy, Σy², Σxy. */
const FIGURES = 5;

/** Users of one arm. */
export interface Population {
  /** Adds `users` users, sampled with replacement: complete blocks by their sums, the rest one by one. */
  add(totals: Sums, users: number, next: Uniform): void;
}

/** Draws the users of a population, each value `x` cut at the bounds of the KPI. */
export function populate({ bounds = [0, 1] }: WatchedKpi, draw: DrawUser, next: Uniform): Population {
  const [low, high] = bounds;
  const users = new Float64Array(BLOCKS * BLOCK * 2);
  const blocks = new Float64Array(BLOCKS * FIGURES);
  for (let user = 0; user < BLOCKS * BLOCK; user += 1) {
    const [drawn, y = 1] = draw(next);
    const x = Math.min(high, Math.max(low, drawn));
    users.set([x, y], user * 2);
    const offset = Math.floor(user / BLOCK) * FIGURES;
    for (const [figure, value] of [x, x * x, y, y * y, x * y].entries()) blocks[offset + figure]! += value;
  }
  const addFigures = (totals: Sums, x: number, x2: number, y: number, y2: number, xy: number): void => {
    totals.sum += x;
    totals.sum2 += x2;
    totals.per += y;
    totals.per2 += y2;
    totals.cross += xy;
  };
  return {
    add(totals, count, random) {
      totals.n += count;
      for (let remaining = Math.floor(count / BLOCK); remaining > 0; remaining -= 1) {
        const at = Math.floor(random() * BLOCKS) * FIGURES;
        addFigures(totals, blocks[at]!, blocks[at + 1]!, blocks[at + 2]!, blocks[at + 3]!, blocks[at + 4]!);
      }
      for (let remaining = count % BLOCK; remaining > 0; remaining -= 1) {
        const at = Math.floor(random() * BLOCKS * BLOCK) * 2;
        const [x, y] = [users[at]!, users[at + 1]!];
        addFigures(totals, x, x * x, y, y * y, x * y);
      }
    },
  };
}
