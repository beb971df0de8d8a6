/** Bulk access to a store with a single writer. The move state is in memory, and stored if it must outlive the process. */
import { type Clock, systemClock } from "../../kit/platform.ts";
import type { Store } from "../store.ts";
import type { Version } from "../version.ts";
import type { MoveState, BulkAccess } from "../bulk_access.ts";
import {
  clearLoaded,
  requireMoveState,
  isSame,
  readMoveState,
  createMoveStateVersion,
  createMoveStateError,
  findActiveMoveState,
} from "./move_state.ts";
import type { Keeper } from "./serial.ts";

/** Parts of the engine. */
export interface SoleParts extends Pick<BulkAccess, "dump" | "atOneMoment">, Partial<Pick<BulkAccess, "clear">> {
  /** The stored record of the move state. */
  found: Version | undefined;
  keep: Keeper["keep"];
  clock?: Clock;
}

/** Bulk access, and the check that keeps decisions from being made during a move. */
export interface SoleWriterBulkAccess {
  /** Returns the error of every decision during a move; undefined where decisions may run. */
  refusal(): Error | undefined;
  /** Makes the bulk access; a change of the move state waits for the transactions that are under way. */
  over(transact: Store["transact"]): BulkAccess;
}

/** Creates the bulk access of a single writer. A hold is in memory only: it ends with the process that could write. */
export function soleWriterBulkAccess({
  found,
  keep,
  clock = systemClock,
  clear,
  ...reading
}: SoleParts): SoleWriterBulkAccess {
  let stored = found;
  let state = readMoveState(found);
  let last: Promise<unknown> = Promise.resolve();
  const now = (): MoveState | undefined => (state = findActiveMoveState(state, clock.now()));

  const set: BulkAccess["commit"] = async (writes, { from, to }) => {
    requireMoveState(now(), from);
    const next = to?.state === "held" ? undefined : to;
    const isStored = isSame(readMoveState(stored), next);
    const version = isStored ? undefined : createMoveStateVersion(next, stored);
    await keep(version ? [...writes, version] : writes);
    if (version) stored = version;
    state = to;
  };

  return {
    refusal: () => createMoveStateError(now()),
    over(transact) {
      // During a move no decision runs, so nothing has to be waited for; otherwise the commit runs as a transaction.
      const commit: BulkAccess["commit"] = (writes, change) => {
        const done = last.then(() => (now() ? set(writes, change) : transact(() => set(writes, change))));
        last = done.catch(() => undefined);
        return done;
      };
      const bulk: BulkAccess = {
        ...reading,
        moveState: async () => now(),
        commit,
        async clear(loading) {
          requireMoveState(now(), loading);
          await (clear ? clear(loading) : clearLoaded(bulk, loading));
        },
      };
      return bulk;
    },
  };
}
