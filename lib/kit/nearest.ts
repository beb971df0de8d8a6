/** The known word that a misspelt one was most likely meant to be. */
import { closest, distance } from "fastest-levenshtein";

/** The known word of the same letters, or that begins with the word, or else the one with the fewest letters to change. */
export function findNearest(word: string, known: readonly string[]): string {
  const lower = word.toLowerCase();
  return (
    known.find((other) => sortLetters(other) === sortLetters(lower)) ??
    known.find((other) => lower.length > 1 && other.toLowerCase().startsWith(lower)) ??
    closest(lower, known)
  );
}

/** Returns whether a word is so near a known one, and not it, that it must be a slip: a letter or two, in a short word one. */
export function isMisspelling(word: string, known: readonly string[]): boolean {
  if (known.includes(word)) return false;
  const nearest = findNearest(word, known);
  const edits = distance(word.toLowerCase(), nearest);
  return edits <= (nearest.length > 5 ? 2 : 1) || sortLetters(word.toLowerCase()) === sortLetters(nearest);
}

const sortLetters = (word: string): string => [...word].toSorted().join("");
