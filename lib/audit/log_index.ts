/**
 * Index of the log as a process has read it: 22 bytes an entry. It shows an entry that was edited later when that is used, and
 * one that a record leaves out.
 */
import type { AuditEntry } from "./entry.ts";
import {
  createSegment,
  hasHash,
  type LogSegment,
  ENTRIES_PER_SEGMENT,
  findOffset,
  type SubjectQuery,
  type FindSubjects,
  writeEntry,
} from "./log_segment.ts";

/** The most pieces that are held: 92 MB. */
const MAX_SEGMENTS = 1024;

/** How far the log was read, and `current_hash` of the entry there. */
export interface LogEnd {
  length: number;
  head: string;
}

/** The outline of a log: of the entries after `after`, up to `length`. */
export type LogIndex = ReturnType<typeof createLogIndex>;

/** An outline that begins behind an entry that is taken as it is. */
export function createLogIndex(start: LogEnd, subjectsOf: FindSubjects) {
  const segments = new Map<number, LogSegment>();
  let after = start.length;
  /** As far as it was read when it was durable: no honest log takes that back. */
  let durable = start;
  /** As far as transactions saw it, of which some may yet fail. */
  let tentative = start;

  const write = ({ id, current_hash, ...entry }: AuditEntry): void => {
    const number = Math.floor(id / ENTRIES_PER_SEGMENT);
    let segment = segments.get(number);
    if (!segment) segments.set(number, (segment = createSegment()));
    writeEntry(segment, id % ENTRIES_PER_SEGMENT, current_hash, subjectsOf(entry));
  };
  const computeLowest = (): number =>
    Math.max(0, (Math.floor(tentative.length / ENTRIES_PER_SEGMENT) - MAX_SEGMENTS + 1) * ENTRIES_PER_SEGMENT - 1);
  /** Lets the oldest go where there are too many. */
  const dropOldest = (): void => {
    if (after >= computeLowest()) return;
    after = computeLowest();
    for (const number of segments.keys()) if ((number + 1) * ENTRIES_PER_SEGMENT - 1 <= after) segments.delete(number);
  };
  /** Takes in the next entry that a transaction sees; false where it is not that. */
  const append = (entry: AuditEntry): boolean => {
    if (entry.id !== tentative.length + 1 || entry.previous_hash !== tentative.head) return false;
    write(entry);
    tentative = { length: entry.id, head: entry.current_hash };
    dropOldest();
    return true;
  };
  /** Returns whether an indexed entry is the one that was read. */
  const hasEntry = ({ id, current_hash }: Pick<AuditEntry, "id" | "current_hash">): boolean => {
    const segment =
      id > after && id <= tentative.length ? segments.get(Math.floor(id / ENTRIES_PER_SEGMENT)) : undefined;
    return segment !== undefined && hasHash(segment, id % ENTRIES_PER_SEGMENT, current_hash);
  };

  return {
    /** The id before the first entry that it holds. */
    get after(): number {
      return after;
    },
    get durable(): LogEnd {
      return durable;
    },
    get tentative(): LogEnd {
      return tentative;
    },
    /** The lowest `after` that it may have. */
    get lowest(): number {
      return computeLowest();
    },
    append,
    /** Takes in an entry below; it was checked. */
    fill(entry: AuditEntry): void {
      if (entry.id <= after && entry.id > computeLowest()) write(entry);
    },
    /** Says that every entry after this one was taken in. */
    extendTo(reached: number): void {
      after = Math.min(after, Math.max(reached, computeLowest()));
    },
    /** Returns whether the indexed log reaches the end that a reader sees, or goes beyond it. */
    covers: ({ length, head }: LogEnd): boolean =>
      tentative.length === length ? tentative.head === head : hasEntry({ id: length, current_hash: head }),
    /** Takes in the next durable entry, whatever a transaction saw in its place; false where it does not continue the log. */
    confirm(entry: AuditEntry): boolean {
      if (entry.id <= durable.length) return hasEntry(entry);
      if (!hasEntry(entry)) {
        tentative = durable;
        if (!append(entry)) return false;
      }
      durable = { length: entry.id, head: entry.current_hash };
      return true;
    },
    /** Takes a durable end of the log; it is ignored where the index saw something else. */
    confirmEnd(end: LogEnd): void {
      if (end.length > durable.length && hasEntry({ id: end.length, current_hash: end.head })) durable = end;
    },
    /** Forgets what was seen and may not be durable. */
    reset(): void {
      tentative = durable;
    },
    hasEntry,
    /** Ids, in descending order, of the entries that may be about the query. */
    *find(query: SubjectQuery, from: number, to: number): Generator<number> {
      const last = Math.max(after, to) + 1;
      for (let id = Math.min(from, tentative.length); id >= last;) {
        const first = id - (id % ENTRIES_PER_SEGMENT);
        const segment = segments.get(first / ENTRIES_PER_SEGMENT);
        if (!segment) return;
        const offset = findOffset(segment, query, id % ENTRIES_PER_SEGMENT, Math.max(0, last - first));
        if (offset !== -1) yield first + offset;
        id = first + Math.max(0, offset) - 1;
      }
    },
  };
}
