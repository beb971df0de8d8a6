/** Hostile proposals around every limit of values: 10,000 in the full run. */
import { expect, test } from "vitest";
import { sendHostileProposals } from "../../support/hostile_values.ts";
import { rounds } from "../../support/run_length.ts";

const seeds = Array.from({ length: rounds(1, 2, 20) }, (_, index) => index + 11);

test.each(seeds)("none of 500 hostile proposals is applied outside schema or step: seed %i", async (seed) => {
  const { allowed, applied } = await sendHostileProposals(seed, 500);
  // Enough proposals pass to reach the limits at the apply.
  expect(allowed).toBeGreaterThan(100);
  expect(applied).toBeGreaterThan(50);
});
