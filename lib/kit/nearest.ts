/** The known word that a misspelt one was most likely meant to be. */
import { closest, distance } from "fastest-levenshtein";

/** The known word with the fewest letters to change. */
export const nearest = (word: string, known: readonly string[]): string => closest(word, known);

/** Whether a word is so near a known one, and not it, that it must be a slip. */
export const isSlip = (word: string, known: readonly string[]): boolean =>
  !known.includes(word) && distance(word, nearest(word, known)) <= 2;
