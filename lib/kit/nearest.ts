/** Finds the known word that a misspelt word probably means. */
import { closest, distance } from "fastest-levenshtein";

/** Returns the known word with the same letters, else one that begins with the word, else one with the fewest edits. */
export function findNearest(word: string, candidates: readonly string[]): string {
  const lower = word.toLowerCase();
  return (
    candidates.find((other) => sortLetters(other) === sortLetters(lower)) ??
    candidates.find((other) => lower.length > 1 && other.toLowerCase().startsWith(lower)) ??
    closest(lower, candidates)
  );
}

/** Returns true for an unknown word with the letters of a known word, or at most two edits from it (one for up to five letters). */
export function isMisspelling(word: string, candidates: readonly string[]): boolean {
  // The edits to a word that is much longer would take long to count.
  if (candidates.includes(word) || word.length > Math.max(...candidates.map(({ length }) => length)) + 2) return false;
  const nearest = findNearest(word, candidates);
  const edits = distance(word.toLowerCase(), nearest);
  return edits <= (nearest.length > 5 ? 2 : 1) || sortLetters(word.toLowerCase()) === sortLetters(nearest);
}

const sortLetters = (word: string): string => [...word].toSorted().join("");
