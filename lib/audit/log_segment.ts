/**
 * A segment of the log index, 22 bytes for each entry. A subject is something that an entry is about (its change, a target, a
 * mandate), as a number: the lowest bit is a flag that marks minor changes, the other bits are a hash of the subject's name. So a
 * query compares either all bits but the lowest, to find a subject, or only the lowest, to find minor changes. Bloom filters let
 * a search skip blocks that cannot contain its subject.
 */
import type { AuditEntry } from "./entry.ts";

export const ENTRIES_PER_SEGMENT = 4096;
const ENTRIES_PER_BLOCK = 256;
/** Base-2 logarithms of the number of bits of a filter: 8 bits for each entry. */
const SEGMENT_FILTER_BITS = 15;
const BLOCK_FILTER_BITS = 11;
/** Number of 32-bit words of an entry's hash that are stored. */
const HASH_WORDS = 3;

/**
 * Returns the subjects of an entry, 32 bits each, 0 for none: first that of column 0 (its change), then those of column 1
 * (targets or a mandate). Different subjects may have the same bits, so the caller must verify each entry that is found.
 */
export type FindSubjects = (
  entry: Pick<AuditEntry, "event_type" | "change_id" | "tenant" | "detail">,
) => readonly number[];

/** Selects the subjects of a column that are equal to `bits` in the bits of `mask`: the lowest bit, or all others. */
export interface SubjectQuery {
  column: 0 | 1;
  mask: number;
  bits: number;
}

/** The index of 4096 entries. */
export interface LogSegment {
  /** The two columns of subjects, with one subject of each entry. */
  subjects: [Uint32Array, Uint32Array];
  /** Further subjects of column 1 by the entry's offset; few entries have any. */
  more: Map<number, readonly number[]>;
  /** The first 96 bits of each entry's hash. */
  hashes: Uint32Array;
  /** Bloom filters with two bits for each subject: one filter for the segment, and one for each of its blocks. */
  filter: Uint32Array;
  blockFilters: Uint32Array;
}

export const createSegment = (): LogSegment => ({
  subjects: [new Uint32Array(ENTRIES_PER_SEGMENT), new Uint32Array(ENTRIES_PER_SEGMENT)],
  more: new Map(),
  hashes: new Uint32Array(ENTRIES_PER_SEGMENT * HASH_WORDS),
  filter: new Uint32Array(2 ** SEGMENT_FILTER_BITS / 32),
  blockFilters: new Uint32Array(((ENTRIES_PER_SEGMENT / ENTRIES_PER_BLOCK) * 2 ** BLOCK_FILTER_BITS) / 32),
});

/** Writes an entry at its offset. */
export function writeEntry(segment: LogSegment, offset: number, hash: string, entrySubjects: readonly number[]): void {
  const { subjects, more, hashes } = segment;
  subjects.forEach((column, index) => {
    const subject = entrySubjects[index] ?? 0;
    column[offset] = subject;
    if (subject !== 0) addToFilters(segment, offset, subject);
    // A query for the lowest bit looks for the subject 1, since the filters leave out the lowest bit of a subject.
    if (subject & 1) addToFilters(segment, offset, 1);
  });
  // Further subjects are never marked.
  const further = entrySubjects.slice(subjects.length);
  further.forEach((subject) => addToFilters(segment, offset, subject));
  // Another entry may have been at this offset before.
  if (further.length > 0) more.set(offset, further);
  else more.delete(offset);
  hashWords(hash).forEach((word, index) => (hashes[offset * HASH_WORDS + index] = word));
}

function addToFilters({ filter, blockFilters }: LogSegment, offset: number, subject: number): void {
  setBit(filter, upperBits(subject, SEGMENT_FILTER_BITS));
  setBit(filter, lowerBits(subject, SEGMENT_FILTER_BITS));
  const start = blockFilterStart(offset);
  setBit(blockFilters, start + upperBits(subject, BLOCK_FILTER_BITS));
  setBit(blockFilters, start + lowerBits(subject, BLOCK_FILTER_BITS));
}

const canContain = ({ filter }: LogSegment, subject: number): boolean =>
  isBitSet(filter, upperBits(subject, SEGMENT_FILTER_BITS)) &&
  isBitSet(filter, lowerBits(subject, SEGMENT_FILTER_BITS));

const canBlockContain = ({ blockFilters }: LogSegment, offset: number, subject: number): boolean =>
  isBitSet(blockFilters, blockFilterStart(offset) + upperBits(subject, BLOCK_FILTER_BITS)) &&
  isBitSet(blockFilters, blockFilterStart(offset) + lowerBits(subject, BLOCK_FILTER_BITS));

/** Returns the position of the first bit of the filter of an entry's block. */
const blockFilterStart = (offset: number): number => ((offset / ENTRIES_PER_BLOCK) | 0) << BLOCK_FILTER_BITS;

/** The upper bits of a subject, and the same number of bits after them. Neither has the lowest bit, so the mark changes no position. */
const upperBits = (subject: number, bits: number): number => subject >>> (32 - bits);
const lowerBits = (subject: number, bits: number): number => (subject << bits) >>> (32 - bits);

const setBit = (filter: Uint32Array, position: number): void => {
  filter[position >>> 5]! |= 1 << position;
};
const isBitSet = (filter: Uint32Array, position: number): boolean => (filter[position >>> 5]! & (1 << position)) !== 0;

/** Returns whether the entry at an offset has this hash. */
export const hasHash = ({ hashes }: LogSegment, offset: number, hash: string): boolean =>
  hashWords(hash).every((word, index) => hashes[offset * HASH_WORDS + index] === word);

/** Returns the first offset that matches the query, searching from `from` down to `to`; -1 without a match. */
export function findOffset(
  segment: LogSegment,
  { column, mask, bits }: SubjectQuery,
  from: number,
  to: number,
): number {
  if (!canContain(segment, bits)) return -1;
  const subjects = segment.subjects[column];
  const more = column === 1 && segment.more.size > 0 ? segment.more : undefined;
  const isMatch = (subject: number): boolean => ((subject ^ bits) & mask) === 0;
  for (let offset = from; offset >= to;) {
    const first = offset - (offset % ENTRIES_PER_BLOCK);
    if (canBlockContain(segment, offset, bits))
      for (const last = Math.max(first, to); offset >= last; offset--)
        if (isMatch(subjects[offset]!) || more?.get(offset)?.some(isMatch)) return offset;
    offset = first - 1;
  }
  return -1;
}

/** Returns the first `HASH_WORDS` words of 32 bits of a hash in hex. */
const hashWords = (hash: string): number[] =>
  [0, 8, 16].map((start) => Number.parseInt(hash.slice(start, start + 8), 16));
