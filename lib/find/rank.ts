/** Matches rows with free words, and scores their relevance (BM25). */
import { STATUSES } from "../changes/rules/change.ts";
import { textTerms } from "../memory/tokens.ts";
import type { Word } from "./parse.ts";
import type { Row } from "./row.ts";

/** Parameters of BM25: saturation of term counts, and weight of the row's length. */
const K1 = 1.2;
const B = 0.75;

/** Search terms of the words for a status. */
const STATUS_TERMS = new Map(STATUSES.map((status) => [status, textTerms(status.replace("_", " "))]));

/**
 * Counts a term in a row, whose terms are one text with a space before and after each. A term that ends in `*` matches every term
 * that begins with the part before it.
 */
export function countTerm({ terms }: Row, term: string): number {
  const pattern = term.endsWith("*") ? ` ${term.slice(0, -1)}` : ` ${term} `;
  let count = 0;
  let position = terms.indexOf(pattern);
  while (position !== -1) {
    count++;
    // Neighbouring terms share the space between them, so the search continues at the last character of the pattern.
    position = terms.indexOf(pattern, position + pattern.length - 1);
  }
  return count;
}

/** Returns true for a row that contains all terms of a free word, in sequence if required. */
export const containsWord = (row: Row, { terms, sequence }: Word): boolean =>
  sequence === undefined ? terms.every((term) => countTerm(row, term) > 0) : row.terms.includes(sequence);

/** Statistics of one search, gathered over all rows before the first row is scored. */
export class Ranking {
  #rows = 0;
  #length = 0;
  readonly #terms: readonly string[];
  /** Number of rows that contain each term. */
  readonly #rowCounts: number[];

  constructor(terms: readonly string[]) {
    this.#terms = terms;
    this.#rowCounts = terms.map(() => 0);
  }

  /** Adds a row to the statistics. */
  add(row: Row): void {
    this.#rows++;
    this.#length += row.length;
    for (const [index, term] of this.#terms.entries()) if (countTerm(row, term) > 0) this.#rowCounts[index]!++;
  }

  /** Counts the terms of the search that a row contains; a term that names the row's status counts twice. */
  countMatches(row: Row): number {
    const statusTerms = STATUS_TERMS.get(row.change.status) ?? [];
    const countMatch = (term: string): number => (statusTerms.includes(term) ? 2 : Math.min(1, countTerm(row, term)));
    return this.#terms.reduce((sum, term) => sum + countMatch(term), 0);
  }

  /** Returns the relevance of a row; 0 if it contains none of the terms. */
  score(row: Row): number {
    const norm = K1 * (1 - B + (B * row.length * this.#rows) / (this.#length || 1));
    let score = 0;
    for (const [index, term] of this.#terms.entries()) {
      const count = countTerm(row, term);
      if (count === 0) continue;
      const rowCount = this.#rowCounts[index]!;
      const rarity = Math.log(1 + (this.#rows - rowCount + 0.5) / (rowCount + 0.5));
      score += (rarity * (K1 + 1) * count) / (count + norm);
    }
    return score;
  }
}
