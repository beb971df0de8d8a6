/** The whole of a store that one process writes to: its mark is known in memory, and kept where it must outlive the process. */
import { type Clock, systemClock } from "../../kit/platform.ts";
import type { Store } from "../store.ts";
import type { Version } from "../version.ts";
import type { Mark, Whole } from "../whole.ts";
import {
  clearLoaded,
  requireMark,
  isSame,
  readMark,
  createMarkVersion,
  createMarkError,
  findActiveMark,
} from "./mark.ts";
import type { Keeper } from "./serial.ts";

/** Parts of the engine. */
export interface SoleParts extends Pick<Whole, "dump" | "atOneMoment">, Partial<Pick<Whole, "clear">> {
  /** The record of the mark, as it was found. */
  found: Version | undefined;
  keep: Keeper["keep"];
  clock?: Clock;
}

/** The whole of a store, and what keeps its decisions from passing the mark. */
export interface SoleWhole {
  /** For `serial`: why no decision is run. */
  refusal(): Error | undefined;
  /** Once there are transactions, which a mark waits for. */
  over(transact: Store["transact"]): Whole;
}

/** The mark of a store and its whole. A hold is in memory only: it ends with the process that could write. */
export function soleWhole({ found, keep, clock = systemClock, clear, ...reading }: SoleParts): SoleWhole {
  let stored = found;
  let mark = readMark(found);
  let last: Promise<unknown> = Promise.resolve();
  const now = (): Mark | undefined => (mark = findActiveMark(mark, clock.now()));

  const set: Whole["commit"] = async (writes, { from, to }) => {
    requireMark(now(), from);
    const next = to?.state === "held" ? undefined : to;
    const isStored = isSame(readMark(stored), next);
    const version = isStored ? undefined : createMarkVersion(next, stored);
    await keep(version ? [...writes, version] : writes);
    if (version) stored = version;
    mark = to;
  };

  return {
    refusal: () => createMarkError(now()),
    over(transact) {
      // Under a mark no decision is run; where there is none, its turn comes after those that are under way.
      const commit: Whole["commit"] = (writes, marking) => {
        const done = last.then(() => (now() ? set(writes, marking) : transact(() => set(writes, marking))));
        last = done.catch(() => undefined);
        return done;
      };
      const whole: Whole = {
        ...reading,
        mark: async () => now(),
        commit,
        async clear(loading) {
          requireMark(now(), loading);
          await (clear ? clear(loading) : clearLoaded(whole, loading));
        },
      };
      return whole;
    },
  };
}
