/** Compares the service with a model of mandates in random scenarios. */
import { expect, test } from "vitest";
import { histories } from "../../../support/length.ts";
import { type Action, drawActions, runScenario } from "./histories.ts";
import type { Tally } from "./history_life.ts";

/** Removes actions from a failing scenario as long as it still fails. */
async function shrink(seed: number, actions: readonly Action[]): Promise<Action[]> {
  const fails = async (candidate: readonly Action[]): Promise<boolean> =>
    runScenario(seed, candidate, new Map()).then(
      () => false,
      () => true,
    );
  let left = [...actions];
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let from = left.length - size; from >= 0; from -= size) {
      const fewer = left.toSpliced(from, size);
      if (await fails(fewer)) left = fewer;
    }
  return left;
}

test.each(histories([1, 12], [13, 200], [13, 2000], 500))(
  "the service and the model agree on mandates in scenarios %i to %i",
  async (from, to) => {
    const tally: Tally = new Map();
    for (let seed = from; seed <= to; seed++) {
      const actions = drawActions(seed);
      try {
        await runScenario(seed, actions, tally);
      } catch (first) {
        const short = await shrink(seed, actions);
        const listed = short.map(({ what, n }) => `${what} ${n}`).join(", ");
        await runScenario(seed, short, new Map()).catch((error: Error) => {
          throw new Error(`scenario ${seed}, shortened to ${listed}: ${error.message}`, { cause: error });
        });
        throw first;
      }
    }
    expect(tally.get("approved by a mandate")).toBeGreaterThan(0);
  },
  900_000,
);
