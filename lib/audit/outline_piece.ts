/** A piece of a log's outline: 22 bytes an entry, a few bits of which tell what none of a stretch's entries is about. */
import type { AuditEntry } from "./entry.ts";

/** Entries a piece. */
export const PIECE = 4096;
/** Entries a stretch of a piece. */
const STRETCH = 256;
/** 2^15 marks a piece, and 2^11 a stretch: 8 bits an entry each. */
const OF_PIECE = 15;
const OF_STRETCH = 11;
/** Number of 32-bit words of an entry's hash that are stored. */
const WORDS = 3;

/**
 * Subjects of an entry in 32 bits each, 0 for none: the first, the second, and where there are more of the second kind, those.
 * Two subjects may have the same bits, so that each entry found is verified.
 */
export type FindSubjects = (
  entry: Pick<AuditEntry, "event_type" | "change_id" | "tenant" | "detail">,
) => readonly number[];

/** Subjects that have these bits where the mask has ones: either all but the lowest bit, or that alone. */
export interface Query {
  /** Which of an entry's subjects. */
  which: 0 | 1;
  mask: number;
  bits: number;
}

/** 4096 entries of an outline. */
export interface Piece {
  /** Two an entry. */
  subjects: [Uint32Array, Uint32Array];
  /** Further subjects of the second kind, by place, of the few entries that have any. */
  more: Map<number, readonly number[]>;
  hashes: Uint32Array;
  /** Two a subject that there is in the piece, and two in its stretch: what lacks one is not there. */
  marks: Uint32Array;
  stretches: Uint32Array;
}

export const emptyPiece = (): Piece => ({
  subjects: [new Uint32Array(PIECE), new Uint32Array(PIECE)],
  more: new Map(),
  hashes: new Uint32Array(PIECE * WORDS),
  marks: new Uint32Array(2 ** OF_PIECE / 32),
  stretches: new Uint32Array(((PIECE / STRETCH) * 2 ** OF_STRETCH) / 32),
});

/** Takes in an entry at its place. */
export function writePlace(piece: Piece, place: number, hash: string, about: readonly number[]): void {
  const { subjects, more, hashes } = piece;
  subjects.forEach((held, index) => {
    const subject = about[index] ?? 0;
    held[place] = subject;
    if (subject !== 0) mark(piece, place, subject);
    if (subject & 1) mark(piece, place, 1);
  });
  const further = about.slice(subjects.length);
  further.forEach((subject) => mark(piece, place, subject));
  // Another entry may have been at this place before.
  if (further.length > 0) more.set(place, further);
  else more.delete(place);
  wordsOf(hash).forEach((word, index) => (hashes[place * WORDS + index] = word));
}

function mark({ marks, stretches }: Piece, place: number, subject: number): void {
  set(marks, upper(subject, OF_PIECE));
  set(marks, lower(subject, OF_PIECE));
  const start = startOf(place);
  set(stretches, start + upper(subject, OF_STRETCH));
  set(stretches, start + lower(subject, OF_STRETCH));
}

const isInPiece = ({ marks }: Piece, subject: number): boolean =>
  isSet(marks, upper(subject, OF_PIECE)) && isSet(marks, lower(subject, OF_PIECE));

const isInStretch = ({ stretches }: Piece, place: number, subject: number): boolean =>
  isSet(stretches, startOf(place) + upper(subject, OF_STRETCH)) &&
  isSet(stretches, startOf(place) + lower(subject, OF_STRETCH));

/** Returns the offset at which the marks of a place's stretch begin. */
const startOf = (place: number): number => ((place / STRETCH) | 0) << OF_STRETCH;

/** The upper bits of a subject, and as many of those that follow. */
const upper = (subject: number, bits: number): number => subject >>> (32 - bits);
const lower = (subject: number, bits: number): number => (subject << bits) >>> (32 - bits);

const set = (marks: Uint32Array, at: number): void => {
  marks[at >>> 5]! |= 1 << at;
};
const isSet = (marks: Uint32Array, at: number): boolean => (marks[at >>> 5]! & (1 << at)) !== 0;

/** Returns whether the entry that was taken in at a place has this hash. */
export const isHeld = ({ hashes }: Piece, place: number, hash: string): boolean =>
  wordsOf(hash).every((word, index) => hashes[place * WORDS + index] === word);

/** Returns the next place that matches the query, from one place down to another; -1 where there is none. */
export function findPlace(piece: Piece, { which, mask, bits }: Query, from: number, to: number): number {
  if (!isInPiece(piece, bits)) return -1;
  const held = piece.subjects[which];
  const more = which === 1 && piece.more.size > 0 ? piece.more : undefined;
  const isSubject = (subject: number): boolean => ((subject ^ bits) & mask) === 0;
  for (let place = from; place >= to;) {
    const first = place - (place % STRETCH);
    if (isInStretch(piece, place, bits))
      for (const last = Math.max(first, to); place >= last; place--)
        if (isSubject(held[place]!) || more?.get(place)?.some(isSubject)) return place;
    place = first - 1;
  }
  return -1;
}

const wordsOf = (hash: string): number[] => [0, 8, 16].map((at) => Number.parseInt(hash.slice(at, at + 8), 16));
