/** Simulation of the guarantees of the rule `cs1`, with a few rollouts of each kind or `ROLLOUTS=10000 npm run simulate`. */
import { expect, test } from "vitest";
import { KINDS, simulate, UNLESS_WORSE } from "./simulate.ts";

const ROLLOUTS = Number(process.env["ROLLOUTS"] ?? 20);
/** Five percent of the rollouts, and four standard deviations if there are few. */
const MAX_ERRORS = ROLLOUTS * 0.05 + (ROLLOUTS < 1000 ? 4 * Math.sqrt(ROLLOUTS * 0.05 * 0.95) : 0);
const SEED = Number(process.env["ROLLOUTS_SEED"] ?? 1);

const report = (name: string, outcomes: object): void => {
  if (ROLLOUTS > 20) process.stdout.write(`${name}: ${JSON.stringify(outcomes)}\n`);
};

test.each(KINDS)(
  "a harmless change is rolled back in at most 5 % of the rollouts: $name",
  (kind) => {
    // With an allowance of 0 nothing proves safety, so these steps advance without a proof.
    const outcomes = simulate(kind, { rollouts: ROLLOUTS, harm: 0, allowed: 0, seed: SEED, steps: UNLESS_WORSE });
    report(`harmless, nothing allowed, ${kind.name}`, outcomes);
    expect(outcomes.rolled_back).toBeLessThanOrEqual(MAX_ERRORS);
  },
  1_800_000,
);

test.each(KINDS)(
  "a change twice as bad as allowed reaches all users in at most 5 % of the rollouts: $name",
  (kind) => {
    const outcomes = simulate(kind, { rollouts: ROLLOUTS, harm: 2 * kind.allowed, allowed: kind.allowed, seed: SEED });
    report(`twice the allowance, ${kind.name}`, outcomes);
    expect(outcomes.released).toBeLessThanOrEqual(MAX_ERRORS);
  },
  1_800_000,
);

test("a harmless change reaches all users if enough harm is allowed", () => {
  const [, conversion] = KINDS;
  const outcomes = simulate(conversion!, { rollouts: ROLLOUTS, harm: 0, allowed: 0.05, seed: SEED });
  report("harmless, 5 points allowed, 20 % conversion", outcomes);
  expect(outcomes.released).toBeGreaterThan(ROLLOUTS / 3);
}, 1_800_000);
