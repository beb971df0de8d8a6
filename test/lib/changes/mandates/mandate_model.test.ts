/** Compares the service with a model of mandates in random scenarios. */
import { expect, test } from "vitest";
import { histories } from "../../../support/run_length.ts";
import { type Action, drawActions, runScenario } from "./run_scenario.ts";
import type { Tally } from "./scenario.ts";

/** Removes actions from a failing scenario as long as the rest still fails. */
async function shrink(seed: number, actions: readonly Action[]): Promise<Action[]> {
  const fails = async (candidate: readonly Action[]): Promise<boolean> =>
    runScenario(seed, candidate, new Map()).then(
      () => false,
      () => true,
    );
  let remaining = [...actions];
  for (let size = Math.ceil(remaining.length / 2); ; size = Math.ceil(size / 2)) {
    for (let start = remaining.length - size; start >= 0; start -= size) {
      const shorter = remaining.toSpliced(start, size);
      if (await fails(shorter)) remaining = shorter;
    }
    if (size <= 1) return remaining;
  }
}

// The ranges of the short, the long and the full run, in tests of 500 scenarios each.
test.each(histories([1, 12], [13, 200], [13, 2000], 500))(
  "the service and the model agree on mandates in scenarios %i to %i",
  async (from, to) => {
    const tally: Tally = new Map();
    for (let seed = from; seed <= to; seed++) {
      const actions = drawActions(seed);
      try {
        await runScenario(seed, actions, tally);
      } catch (firstError) {
        const shrunk = await shrink(seed, actions);
        const listed = shrunk.map(({ type, detailSeed }) => `${type} ${detailSeed}`).join(", ");
        await runScenario(seed, shrunk, new Map()).catch((error: Error) => {
          throw new Error(`scenario ${seed}, shortened to ${listed}: ${error.message}`, { cause: error });
        });
        throw firstError;
      }
    }
    expect(tally.get("approved by a mandate")).toBeGreaterThan(0);
  },
  900_000,
);
