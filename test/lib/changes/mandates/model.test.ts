/** Mandates in random histories: the service and a model that shares no code with it agree on each step. */
import { expect, test } from "vitest";
import { histories } from "../../../support/length.ts";
import { type Act, drawActs, playHistory } from "./histories.ts";
import type { Seen } from "./history_life.ts";

/** Leaves out acts as long as the history still fails. */
async function shrink(seed: number, acts: readonly Act[]): Promise<Act[]> {
  const fails = async (some: readonly Act[]): Promise<boolean> =>
    playHistory(seed, some, new Map()).then(
      () => false,
      () => true,
    );
  let left = [...acts];
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let from = left.length - size; from >= 0; from -= size) {
      const fewer = left.toSpliced(from, size);
      if (await fails(fewer)) left = fewer;
    }
  return left;
}

test.each(histories([1, 12], [13, 200], [13, 2000], 500))(
  "the service and the model agree on mandates in histories %i to %i",
  async (from, to) => {
    const seen: Seen = new Map();
    for (let seed = from; seed <= to; seed++) {
      const acts = drawActs(seed);
      try {
        await playHistory(seed, acts, seen);
      } catch (first) {
        const short = await shrink(seed, acts);
        const listed = short.map(({ what, n }) => `${what} ${n}`).join(", ");
        await playHistory(seed, short, new Map()).catch((error: Error) => {
          throw new Error(`history ${seed}, shortened to ${listed}: ${error.message}`, { cause: error });
        });
        throw first;
      }
    }
    expect(seen.get("approved by a mandate")).toBeGreaterThan(0);
  },
  900_000,
);
