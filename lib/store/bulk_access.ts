/** Bulk access to a store, for backups and moves. */
import type { Version } from "./version.ts";

/**
 * State of a store during or after a move or backup. `move` is the id of the move that set the state.
 * `moving`: a move out of the store has not ended; `moved`: the log continues in another store; both forbid writes. `loading`: a
 * copy into the store is not complete, which forbids decisions. `held`: writes wait for the end of a backup.
 */
export type MoveState =
  | { readonly state: "held"; readonly move: string; readonly until: string }
  | { readonly state: "moving"; readonly move: string; readonly to: string; readonly at: string }
  | { readonly state: "moved"; readonly move: string; readonly to: string; readonly at: string }
  | { readonly state: "loading"; readonly move: string; readonly from: string; readonly at: string };

/** Describes a move state as part of an error's sentence. */
export function describeMoveState(state: MoveState): string {
  switch (state.state) {
    case "moved":
      return `it moved to ${state.to} at ${state.at}, where its log goes on`;
    case "moving":
      return `a move to ${state.to} began at ${state.at} and has not ended; run it again, or give it up: countersign unfence`;
    case "held":
      return `it is being copied, until ${state.until} at the latest`;
    case "loading":
      return `a move into it, from ${state.from}, has not ended`;
  }
}

/** State of a store that is being loaded. */
export type Loading = Extract<MoveState, { state: "loading" }>;

/** Expected and new move state; `undefined` for none. An expired hold counts as none. */
export interface MoveStateChange {
  readonly from: MoveState | undefined;
  readonly to: MoveState | undefined;
}

/** Reads and writes all records of a store, with their revisions. */
export interface BulkAccess {
  /**
   * Yields every record with its revision, each collection ordered by id. At the end it yields a deletion without id (`""`)
   * for each collection with deleted records, whose revision is the highest that a deleted record had, or more.
   */
  dump(): AsyncIterable<readonly Version[]>;
  /** True if a dump shows one moment, also while others write. */
  readonly atOneMoment: boolean;
  moveState(): Promise<MoveState | undefined>;
  /**
   * Stores versions unchanged, past all decisions, and sets the move state. Many versions are stored in chunks; the last chunk
   * and a change of the move state are atomic. Once this has resolved, every later write obeys the new state. Errors:
   * `MoveStateConflict`; those of a transaction.
   */
  commit(writes: readonly Version[], change: MoveStateChange): Promise<void>;
  /**
   * Deletes all loaded records of a store whose move state is `loading`, then that state. As soon as it starts, the loading
   * process can no longer write to the store. `clear` may close the store. Errors: `MoveStateConflict`.
   */
  clear(loading: Loading): Promise<void>;
}

/** The move state is not the expected one: another move is running, or a hold has expired. */
export class MoveStateConflict extends Error {
  override readonly name = "MoveStateConflict";
  constructor(
    readonly found: MoveState | undefined,
    expected: MoveState | undefined,
  ) {
    super(describeConflict(found, expected));
  }
}

function describeConflict(found: MoveState | undefined, expected: MoveState | undefined): string {
  if (expected?.state === "loading") return "another move has taken over the store that this one loads";
  if (found) return `the store is ${found.state} by another move (${found.move})`;
  return expected?.state === "held"
    ? "the hold on the store ended before the copy did, and the store may have changed meanwhile; make the backup again"
    : "the store was released by somebody else meanwhile";
}
