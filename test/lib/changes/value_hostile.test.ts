/** Hostile proposals around every limit of values; value_hostile.long.test.ts makes up to 10,000. */
import { expect, test } from "vitest";
import { sendHostileProposals } from "../../support/hostile_values.ts";

const SEED = 3;

test("none of 150 hostile proposals is applied outside schema or step", async () => {
  // Fails when a change is applied that a second implementation of the rules does not allow.
  const { allowed, applied } = await sendHostileProposals(SEED, 150);
  // Enough proposals pass to reach the limits at the apply.
  expect(allowed).toBeGreaterThan(30);
  expect(applied).toBeGreaterThan(15);
});
