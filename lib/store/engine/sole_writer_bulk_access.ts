/**
 * Bulk access to a store with a single writer, for backups and for moves to another store. The move state (`MoveState`) is in memory;
 * any state but `held`, the hold of a backup, is stored too.
 */
import { type Clock, systemClock } from "../../kit/platform.ts";
import type { Store } from "../store.ts";
import type { Version } from "../version.ts";
import type { MoveState, BulkAccess } from "../bulk_access.ts";
import {
  clearLoaded,
  requireMoveState,
  isSameMoveState,
  readMoveState,
  createMoveStateVersion,
  createMoveStateError,
  findActiveMoveState,
} from "./move_state.ts";
import type { SerialStorage } from "./serial.ts";

/** Parts of the engine. */
export interface SoleWriterParts extends Pick<BulkAccess, "dump" | "atOneMoment">, Partial<Pick<BulkAccess, "clear">> {
  /** The stored record of the move state. */
  storedMoveState: Version | undefined;
  persist: SerialStorage["persist"];
  clock?: Clock;
}

/** Bulk access, and the check that keeps decisions from being made during a move. */
export interface SoleWriterBulkAccess {
  /** Returns the error of every decision during a move; undefined where decisions may run. */
  findWriteError(): Error | undefined;
  /** Creates the bulk access; a change of the move state waits for the running transactions. */
  createBulkAccess(transact: Store["transact"]): BulkAccess;
}

/** Creates the bulk access of a single writer. A hold is in memory only, since no other process writes after this one ends. */
export function soleWriterBulkAccess({
  storedMoveState,
  persist,
  clock = systemClock,
  clear,
  ...dumping
}: SoleWriterParts): SoleWriterBulkAccess {
  let stored = storedMoveState;
  let state = readMoveState(storedMoveState);
  let lastCommit: Promise<unknown> = Promise.resolve();
  const readActive = (): MoveState | undefined => (state = findActiveMoveState(state, clock.now()));

  const write: BulkAccess["commit"] = async (writes, { from, to }) => {
    requireMoveState(readActive(), from);
    const stateToStore = to?.state === "held" ? undefined : to;
    const isStored = isSameMoveState(readMoveState(stored), stateToStore);
    const version = isStored ? undefined : createMoveStateVersion(stateToStore, stored);
    await persist(version ? [...writes, version] : writes);
    if (version) stored = version;
    state = to;
  };

  return {
    findWriteError: () => createMoveStateError(readActive()),
    createBulkAccess(transact) {
      // During a move no decision runs, so the commit need not wait for one; otherwise it runs as a transaction.
      const commit: BulkAccess["commit"] = (writes, change) => {
        const committed = lastCommit.then(() =>
          readActive() ? write(writes, change) : transact(() => write(writes, change)),
        );
        lastCommit = committed.catch(() => undefined);
        return committed;
      };
      const bulk: BulkAccess = {
        ...dumping,
        moveState: async () => readActive(),
        commit,
        async clear(loading) {
          requireMoveState(readActive(), loading);
          await (clear ? clear(loading) : clearLoaded(bulk, loading));
        },
      };
      return bulk;
    },
  };
}
