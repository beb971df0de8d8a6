/** A piece of a log's outline: 22 bytes an entry, a few bits of which tell what none of a stretch's entries is about. */
import type { AuditEntry } from "./entry.ts";

/** Entries a piece. */
export const PIECE = 4096;
/** Entries a stretch of a piece; each has marks of its own. */
const STRETCH = 256;
/** 32-bit words of marks a stretch: 4096 bits. */
const MARKS = 128;
/** Of an entry's hash as many 32-bit words are held. */
const WORDS = 3;

/** What an entry is about, in 32 bits each, 0 for nothing: two subjects may have the same, so that what is found is looked at. */
export type SubjectsOf = (
  entry: Pick<AuditEntry, "event_type" | "change_id" | "tenant" | "detail">,
) => readonly number[];

/** Subjects that have these bits where the mask has ones: either all but the lowest bit, or that alone. */
export interface Sought {
  /** Which of an entry's subjects. */
  which: 0 | 1;
  mask: number;
  bits: number;
}

/** 4096 entries of an outline. */
export interface Piece {
  /** Two an entry. */
  subjects: [Uint32Array, Uint32Array];
  hashes: Uint32Array;
  /** The subjects that there are in each stretch, by their upper 12 bits. */
  marks: Uint32Array;
}

export const emptyPiece = (): Piece => ({
  subjects: [new Uint32Array(PIECE), new Uint32Array(PIECE)],
  hashes: new Uint32Array(PIECE * WORDS),
  marks: new Uint32Array((PIECE / STRETCH) * MARKS),
});

/** Takes in an entry at its place. */
export function writeTo(
  { subjects, hashes, marks }: Piece,
  place: number,
  hash: string,
  about: readonly number[],
): void {
  subjects.forEach((held, index) => {
    const subject = about[index] ?? 0;
    held[place] = subject;
    if (subject !== 0) mark(marks, place, subject);
    if (subject & 1) mark(marks, place, 1);
  });
  wordsOf(hash).forEach((word, index) => (hashes[place * WORDS + index] = word));
}

const wordOf = (place: number, subject: number): number => Math.floor(place / STRETCH) * MARKS + (subject >>> 25);
const bitOf = (subject: number): number => 1 << (subject >>> 20);

const mark = (marks: Uint32Array, place: number, subject: number): void => {
  marks[wordOf(place, subject)]! |= bitOf(subject);
};

const isMarked = (marks: Uint32Array, place: number, subject: number): boolean =>
  (marks[wordOf(place, subject)]! & bitOf(subject)) !== 0;

/** Whether the entry that was taken in at a place has this hash. */
export const isHeld = ({ hashes }: Piece, place: number, hash: string): boolean =>
  wordsOf(hash).every((word, index) => hashes[place * WORDS + index] === word);

/** The next place of what is sought, from one place down to another; -1 where there is none. */
export function placeIn({ subjects, marks }: Piece, { which, mask, bits }: Sought, from: number, to: number): number {
  const held = subjects[which];
  for (let place = from; place >= to;) {
    const first = place - (place % STRETCH);
    if (isMarked(marks, place, bits))
      for (const last = Math.max(first, to); place >= last; place--)
        if (((held[place]! ^ bits) & mask) === 0) return place;
    place = first - 1;
  }
  return -1;
}

const wordsOf = (hash: string): number[] => [0, 8, 16].map((at) => Number.parseInt(hash.slice(at, at + 8), 16));
