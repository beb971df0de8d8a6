/** The promises of the rule `cs1`, in simulation: `ROLLOUTS=10000 npm run simulate` runs as many of each kind, a few alone in the other tests. */
import { expect, test } from "vitest";
import { KINDS, simulate, UNLESS_WORSE } from "./simulate.ts";

const ROLLOUTS = Number(process.env["ROLLOUTS"] ?? 20);
/** Five percent, and four standard deviations of so many rollouts. */
const MOST = ROLLOUTS * 0.05 + (ROLLOUTS < 1000 ? 4 * Math.sqrt(ROLLOUTS * 0.05 * 0.95) : 0);
const SEED = Number(process.env["ROLLOUTS_SEED"] ?? 1);

const report = (name: string, outcomes: object): void => {
  if (ROLLOUTS > 20) process.stdout.write(`${name}: ${JSON.stringify(outcomes)}\n`);
};

test.each(KINDS)(
  "a harmless change is rolled back in at most 5 %: $name",
  (kind) => {
    const outcomes = simulate(kind, { rollouts: ROLLOUTS, harm: 0, allowed: 0, seed: SEED, steps: UNLESS_WORSE });
    report(`harmless, nothing allowed, ${kind.name}`, outcomes);
    expect(outcomes.rolled_back).toBeLessThanOrEqual(MOST);
  },
  1_800_000,
);

test.each(KINDS)(
  "a change twice as bad as allowed is given to everybody in at most 5 %: $name",
  (kind) => {
    const outcomes = simulate(kind, { rollouts: ROLLOUTS, harm: 2 * kind.allowed, allowed: kind.allowed, seed: SEED });
    report(`twice the allowance, ${kind.name}`, outcomes);
    expect(outcomes.released).toBeLessThanOrEqual(MOST);
  },
  1_800_000,
);

test("a change without harm is given to everybody, where enough is allowed", () => {
  const [, conversion] = KINDS;
  const outcomes = simulate(conversion!, { rollouts: ROLLOUTS, harm: 0, allowed: 0.05, seed: SEED });
  report("harmless, 5 points allowed, 20 % conversion", outcomes);
  expect(outcomes.released).toBeGreaterThan(ROLLOUTS / 3);
}, 1_800_000);
