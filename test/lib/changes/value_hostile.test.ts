/** Hostile proposals around every limit; the form with 10,000 is in value_hostile.long.test.ts. */
import { expect, test } from "vitest";
import { besiegeLimits } from "../../support/hostile_values.ts";

test("none of 150 hostile proposals is applied outside schema or step", async () => {
  const { allowed, applied } = await besiegeLimits(3, 150);
  expect(allowed).toBeGreaterThan(30);
  expect(applied).toBeGreaterThan(15);
});
