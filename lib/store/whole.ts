/** A store as a whole, for backups and moves. */
import type { Version } from "./version.ts";

/**
 * The state of a store that is not simply in use. `move` is the id of the move that set it.
 * `moving`: fenced by a move that has not ended; `moved`: its log goes on elsewhere; both take no writes. `loading`: a copy into
 * it is not complete, so nothing is decided on it. `held`: its last changes are being copied into a backup, and writes wait.
 */
export type Mark =
  | { readonly state: "held"; readonly move: string; readonly until: string }
  | { readonly state: "moving"; readonly move: string; readonly to: string; readonly at: string }
  | { readonly state: "moved"; readonly move: string; readonly to: string; readonly at: string }
  | { readonly state: "loading"; readonly move: string; readonly from: string; readonly at: string };

/** Returns what a mark means, as part of an error's sentence. */
export function describeMark(mark: Mark): string {
  switch (mark.state) {
    case "moved":
      return `it moved to ${mark.to} at ${mark.at}, where its log goes on`;
    case "moving":
      return `a move to ${mark.to} began at ${mark.at} and has not ended; run it again, or give it up: countersign unfence`;
    case "held":
      return `it is being copied, until ${mark.until} at the latest`;
    case "loading":
      return `a move into it, from ${mark.from}, has not ended`;
  }
}

/** The mark of a store that is being loaded. */
export type Loading = Extract<Mark, { state: "loading" }>;

/** Expected mark, and the new one; `undefined` for none. An expired hold counts as none. */
export interface Marking {
  readonly from: Mark | undefined;
  readonly to: Mark | undefined;
}

/** All records of a store, with their revisions. */
export interface Whole {
  /**
   * Every record with its revision, each collection in order of its ids; last, for each collection of which something was
   * deleted, a deletion of no id (`""`): its revision is one that no deleted record had a higher one than.
   */
  dump(): AsyncIterable<readonly Version[]>;
  /** True if a dump is of one moment, whatever is written meanwhile. */
  readonly atOneMoment: boolean;
  mark(): Promise<Mark | undefined>;
  /**
   * Keeps versions as they are, past all decisions, and sets the mark: under a mark in pieces, if there are many; what is kept
   * with a mark that changes is kept with it or not at all. Once it has resolved with a mark, no write is under way that does
   * not know of it. Errors: `MarkChanged`; those of a transaction.
   */
  commit(writes: readonly Version[], marking: Marking): Promise<void>;
  /**
   * Deletes all loaded records of a store that is marked as `loading`, and the mark. From its beginning on the
   * loading process can write nothing there. It may close the store. Errors: `MarkChanged`.
   */
  clear(loading: Loading): Promise<void>;
}

/** The mark is not the one that was expected: another move is at work, or a hold was over. */
export class MarkChanged extends Error {
  override readonly name = "MarkChanged";
  constructor(
    readonly found: Mark | undefined,
    expected: Mark | undefined,
  ) {
    super(describeChange(found, expected));
  }
}

function describeChange(found: Mark | undefined, expected: Mark | undefined): string {
  if (expected?.state === "loading") return "another move has taken over the store that this one loads";
  if (found) return `the store is ${found.state} by another move (${found.move})`;
  return expected?.state === "held"
    ? "the hold on the store ended before the copy did, and it was written to meanwhile; make the backup again"
    : "the store was released by somebody else meanwhile";
}
