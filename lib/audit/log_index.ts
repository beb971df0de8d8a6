/**
 * Index of the log entries that this process has read, 22 bytes for each. It finds the entries of a change without a scan, and
 * reveals an entry that was edited after it was read.
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

/** Maximum number of segments in memory, 92 MB in all. */
const MAX_SEGMENTS = 1024;

/** An end of the log: its length, and `current_hash` of its last entry. */
export interface LogEnd {
  length: number;
  head: string;
}

/** Index of the entries of a log after `after`, up to `tentative`. */
export type LogIndex = ReturnType<typeof createLogIndex>;

/** Creates an index of the entries after `start`, whose own entry is not verified. */
export function createLogIndex(start: LogEnd, findSubjects: FindSubjects) {
  const segments = new Map<number, LogSegment>();
  let after = start.length;
  /** The end of the entries that are known to be durable; a valid log only grows from there. */
  let durable = start;
  /** The end that transactions have read; some of them may still fail. */
  let tentative = start;

  const write = ({ id, current_hash, ...entry }: AuditEntry): void => {
    const number = Math.floor(id / ENTRIES_PER_SEGMENT);
    let segment = segments.get(number);
    if (!segment) segments.set(number, (segment = createSegment()));
    writeEntry(segment, id % ENTRIES_PER_SEGMENT, current_hash, findSubjects(entry));
  };
  /** Computes the id before the first entry for which the index has room. */
  const computeLowest = (): number =>
    Math.max(0, (Math.floor(tentative.length / ENTRIES_PER_SEGMENT) - MAX_SEGMENTS + 1) * ENTRIES_PER_SEGMENT - 1);
  /** Drops the oldest segments above the maximum. */
  const dropOldest = (): void => {
    if (after >= computeLowest()) return;
    after = computeLowest();
    for (const number of segments.keys()) {
      const lastId = (number + 1) * ENTRIES_PER_SEGMENT - 1;
      if (lastId <= after) segments.delete(number);
    }
  };
  /** Adds the next entry that a transaction has read; returns false if the entry does not continue the tentative end. */
  const append = (entry: AuditEntry): boolean => {
    if (entry.id !== tentative.length + 1 || entry.previous_hash !== tentative.head) return false;
    write(entry);
    tentative = { length: entry.id, head: entry.current_hash };
    dropOldest();
    return true;
  };
  /** Returns whether an entry is indexed, with the hash that it had when it was read. */
  const hasEntry = ({ id, current_hash }: Pick<AuditEntry, "id" | "current_hash">): boolean => {
    const isInRange = id > after && id <= tentative.length;
    const segment = isInRange ? segments.get(Math.floor(id / ENTRIES_PER_SEGMENT)) : undefined;
    return segment !== undefined && hasHash(segment, id % ENTRIES_PER_SEGMENT, current_hash);
  };

  return {
    /** The id before the first indexed entry. */
    get after(): number {
      return after;
    },
    get durable(): LogEnd {
      return durable;
    },
    get tentative(): LogEnd {
      return tentative;
    },
    /** The lowest possible `after`, given the maximum number of segments. */
    get lowest(): number {
      return computeLowest();
    },
    append,
    /** Adds a verified entry before the indexed ones. */
    fill(entry: AuditEntry): void {
      if (entry.id <= after && entry.id > computeLowest()) write(entry);
    },
    /** Extends the index down to `newAfter`, once all entries after it have been added. */
    extendTo(newAfter: number): void {
      after = Math.min(after, Math.max(newAfter, computeLowest()));
    },
    /** Returns whether the index contains the log up to this end. */
    covers: ({ length, head }: LogEnd): boolean =>
      tentative.length === length ? tentative.head === head : hasEntry({ id: length, current_hash: head }),
    /** Adds the next durable entry, which may replace a tentative one; returns false if it does not continue the log. */
    confirm(entry: AuditEntry): boolean {
      if (entry.id <= durable.length) return hasEntry(entry);
      if (!hasEntry(entry)) {
        tentative = durable;
        if (!append(entry)) return false;
      }
      durable = { length: entry.id, head: entry.current_hash };
      return true;
    },
    /** Marks the log as durable up to an end; ignored if the index has another entry there. */
    confirmEnd(end: LogEnd): void {
      if (end.length > durable.length && hasEntry({ id: end.length, current_hash: end.head })) durable = end;
    },
    /** Forgets entries that may not be durable. */
    reset(): void {
      tentative = durable;
    },
    hasEntry,
    /** Yields ids of the entries that may match the query, in descending order: from `from` down to the one after `to`. */
    *find(query: SubjectQuery, from: number, to: number): Generator<number> {
      const last = Math.max(after, to) + 1;
      for (let id = Math.min(from, tentative.length); id >= last;) {
        const first = id - (id % ENTRIES_PER_SEGMENT);
        const segment = segments.get(first / ENTRIES_PER_SEGMENT);
        if (!segment) return;
        const offset = findOffset(segment, query, id % ENTRIES_PER_SEGMENT, Math.max(0, last - first));
        if (offset !== -1) yield first + offset;
        // Continues below the match; without a match, in the segment before.
        id = first + Math.max(0, offset) - 1;
      }
    },
  };
}
