/**
 * Index of the log as a process has read it: 22 bytes an entry. It shows an entry that was edited later when that is used, and
 * one that a record leaves out.
 */
import type { AuditEntry } from "./entry.ts";
import {
  emptyPiece,
  isHeld,
  type Piece,
  PIECE,
  findPlace,
  type Query,
  type FindSubjects,
  writePlace,
} from "./outline_piece.ts";

/** The most pieces that are held: 92 MB. */
const MOST_PIECES = 1024;

/** How far the log was read, and `current_hash` of the entry there. */
export interface End {
  length: number;
  head: string;
}

/** The outline of a log: of the entries after `after`, up to `length`. */
export type Outline = ReturnType<typeof createOutline>;

/** An outline that begins behind an entry that is taken as it is. */
export function createOutline(start: End, subjectsOf: FindSubjects) {
  const pieces = new Map<number, Piece>();
  let after = start.length;
  /** As far as it was read when it was durable: no honest log takes that back. */
  let durable = start;
  /** As far as transactions saw it, of which some may yet fail. */
  let seen = start;

  const write = ({ id, current_hash, ...entry }: AuditEntry): void => {
    const number = Math.floor(id / PIECE);
    let piece = pieces.get(number);
    if (!piece) pieces.set(number, (piece = emptyPiece()));
    writePlace(piece, id % PIECE, current_hash, subjectsOf(entry));
  };
  const lowest = (): number => Math.max(0, (Math.floor(seen.length / PIECE) - MOST_PIECES + 1) * PIECE - 1);
  /** Lets the oldest go where there are too many. */
  const bound = (): void => {
    if (after >= lowest()) return;
    after = lowest();
    for (const number of pieces.keys()) if ((number + 1) * PIECE - 1 <= after) pieces.delete(number);
  };
  /** Takes in the next entry that a transaction sees; false where it is not that. */
  const append = (entry: AuditEntry): boolean => {
    if (entry.id !== seen.length + 1 || entry.previous_hash !== seen.head) return false;
    write(entry);
    seen = { length: entry.id, head: entry.current_hash };
    bound();
    return true;
  };
  /** Returns whether an indexed entry is the one that was read. */
  const isAsRead = ({ id, current_hash }: Pick<AuditEntry, "id" | "current_hash">): boolean => {
    const piece = id > after && id <= seen.length ? pieces.get(Math.floor(id / PIECE)) : undefined;
    return piece !== undefined && isHeld(piece, id % PIECE, current_hash);
  };

  return {
    /** The id before the first entry that it holds. */
    get after(): number {
      return after;
    },
    get durable(): End {
      return durable;
    },
    get seen(): End {
      return seen;
    },
    /** The lowest `after` that it may have. */
    get lowest(): number {
      return lowest();
    },
    append,
    /** Takes in an entry below; it was checked. */
    fill(entry: AuditEntry): void {
      if (entry.id <= after && entry.id > lowest()) write(entry);
    },
    /** Says that every entry after this one was taken in. */
    reachTo(reached: number): void {
      after = Math.min(after, Math.max(reached, lowest()));
    },
    /** Returns whether the indexed log reaches the end that a reader sees, or goes beyond it. */
    reaches: ({ length, head }: End): boolean =>
      seen.length === length ? seen.head === head : isAsRead({ id: length, current_hash: head }),
    /** Takes in the next durable entry, whatever a transaction saw in its place; false where it does not continue the log. */
    confirm(entry: AuditEntry): boolean {
      if (entry.id <= durable.length) return isAsRead(entry);
      if (!isAsRead(entry)) {
        seen = durable;
        if (!append(entry)) return false;
      }
      durable = { length: entry.id, head: entry.current_hash };
      return true;
    },
    /** Takes a durable end of the log; it is ignored where the index saw something else. */
    settle(end: End): void {
      if (end.length > durable.length && isAsRead({ id: end.length, current_hash: end.head })) durable = end;
    },
    /** Forgets what was seen and may not be durable. */
    reset(): void {
      seen = durable;
    },
    isAsRead,
    /** Ids, in descending order, of the entries that may be about the query. */
    *find(query: Query, from: number, to: number): Generator<number> {
      const last = Math.max(after, to) + 1;
      for (let id = Math.min(from, seen.length); id >= last;) {
        const first = id - (id % PIECE);
        const piece = pieces.get(first / PIECE);
        if (!piece) return;
        const place = findPlace(piece, query, id % PIECE, Math.max(0, last - first));
        if (place !== -1) yield first + place;
        id = first + Math.max(0, place) - 1;
      }
    },
  };
}
