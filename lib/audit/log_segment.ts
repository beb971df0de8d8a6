/** A piece of a log's outline: 22 bytes an entry, a few bits of which tell what none of a stretch's entries is about. */
import type { AuditEntry } from "./entry.ts";

/** Entries a piece. */
export const ENTRIES_PER_SEGMENT = 4096;
/** Entries a stretch of a piece. */
const ENTRIES_PER_BLOCK = 256;
/** 2^15 marks a piece, and 2^11 a stretch: 8 bits an entry each. */
const SEGMENT_FILTER_BITS = 15;
const BLOCK_FILTER_BITS = 11;
/** Number of 32-bit words of an entry's hash that are stored. */
const HASH_WORDS = 3;

/**
 * Subjects of an entry in 32 bits each, 0 for none: the first, the second, and where there are more of the second kind, those.
 * Two subjects may have the same bits, so that each entry found is verified.
 */
export type FindSubjects = (
  entry: Pick<AuditEntry, "event_type" | "change_id" | "tenant" | "detail">,
) => readonly number[];

/** Subjects that have these bits where the mask has ones: either all but the lowest bit, or that alone. */
export interface SubjectQuery {
  /** Which of an entry's subjects. */
  column: 0 | 1;
  mask: number;
  bits: number;
}

/** 4096 entries of an outline. */
export interface LogSegment {
  /** Two an entry. */
  subjects: [Uint32Array, Uint32Array];
  /** Further subjects of the second kind, by place, of the few entries that have any. */
  more: Map<number, readonly number[]>;
  hashes: Uint32Array;
  /** Two a subject that there is in the piece, and two in its stretch: what lacks one is not there. */
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

/** Takes in an entry at its place. */
export function writeEntry(
  segment: LogSegment,
  offset: number,
  hash: string,
  subjectsOfEntry: readonly number[],
): void {
  const { subjects, more, hashes } = segment;
  subjects.forEach((column, index) => {
    const subject = subjectsOfEntry[index] ?? 0;
    column[offset] = subject;
    if (subject !== 0) addToFilters(segment, offset, subject);
    if (subject & 1) addToFilters(segment, offset, 1);
  });
  const further = subjectsOfEntry.slice(subjects.length);
  further.forEach((subject) => addToFilters(segment, offset, subject));
  // Another entry may have been at this place before.
  if (further.length > 0) more.set(offset, further);
  else more.delete(offset);
  hashWords(hash).forEach((word, index) => (hashes[offset * HASH_WORDS + index] = word));
}

function addToFilters({ filter: marks, blockFilters: stretches }: LogSegment, offset: number, subject: number): void {
  setBit(marks, upperBits(subject, SEGMENT_FILTER_BITS));
  setBit(marks, lowerBits(subject, SEGMENT_FILTER_BITS));
  const start = blockFilterStart(offset);
  setBit(stretches, start + upperBits(subject, BLOCK_FILTER_BITS));
  setBit(stretches, start + lowerBits(subject, BLOCK_FILTER_BITS));
}

const canContain = ({ filter: marks }: LogSegment, subject: number): boolean =>
  isBitSet(marks, upperBits(subject, SEGMENT_FILTER_BITS)) && isBitSet(marks, lowerBits(subject, SEGMENT_FILTER_BITS));

const canBlockContain = ({ blockFilters: stretches }: LogSegment, offset: number, subject: number): boolean =>
  isBitSet(stretches, blockFilterStart(offset) + upperBits(subject, BLOCK_FILTER_BITS)) &&
  isBitSet(stretches, blockFilterStart(offset) + lowerBits(subject, BLOCK_FILTER_BITS));

/** Returns the offset at which the marks of a place's stretch begin. */
const blockFilterStart = (offset: number): number => ((offset / ENTRIES_PER_BLOCK) | 0) << BLOCK_FILTER_BITS;

/** The upper bits of a subject, and as many of those that follow. */
const upperBits = (subject: number, bits: number): number => subject >>> (32 - bits);
const lowerBits = (subject: number, bits: number): number => (subject << bits) >>> (32 - bits);

const setBit = (marks: Uint32Array, at: number): void => {
  marks[at >>> 5]! |= 1 << at;
};
const isBitSet = (marks: Uint32Array, at: number): boolean => (marks[at >>> 5]! & (1 << at)) !== 0;

/** Returns whether the entry that was taken in at a place has this hash. */
export const hasHash = ({ hashes }: LogSegment, offset: number, hash: string): boolean =>
  hashWords(hash).every((word, index) => hashes[offset * HASH_WORDS + index] === word);

/** Returns the next place that matches the query, from one place down to another; -1 where there is none. */
export function findOffset(
  segment: LogSegment,
  { column: which, mask, bits }: SubjectQuery,
  from: number,
  to: number,
): number {
  if (!canContain(segment, bits)) return -1;
  const column = segment.subjects[which];
  const more = which === 1 && segment.more.size > 0 ? segment.more : undefined;
  const isSubject = (subject: number): boolean => ((subject ^ bits) & mask) === 0;
  for (let offset = from; offset >= to;) {
    const first = offset - (offset % ENTRIES_PER_BLOCK);
    if (canBlockContain(segment, offset, bits))
      for (const last = Math.max(first, to); offset >= last; offset--)
        if (isSubject(column[offset]!) || more?.get(offset)?.some(isSubject)) return offset;
    offset = first - 1;
  }
  return -1;
}

const hashWords = (hash: string): number[] => [0, 8, 16].map((at) => Number.parseInt(hash.slice(at, at + 8), 16));
