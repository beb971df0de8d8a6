/** An in-memory search index. Results are ranked by BM25, adjusted by age and importance. */
import { queryTerms, textTerms } from "./tokens.ts";

/** Parameters of BM25: saturation of term counts, and weight of the document's length. */
const K1 = 1.2;
const B = 0.75;
const HALF_LIFE_MS = 30 * 24 * 3600 * 1000;
/** Weights of age and importance. Together they can outweigh a difference in relevance of up to 30 %. */
const RECENCY = 0.2;
const IMPORTANCE = 0.1;
/** The index is compacted when at least this many documents, and half of all, are dropped. */
const MIN_DROPPED_TO_COMPACT = 1000;
/** Maximum number of terms of a query; further ones are ignored. */
const MAX_TERMS = 64;

/** A document to index; words of the author's name are search terms too. */
export interface Document {
  id: string;
  text: string;
  author?: string | null;
  /** Milliseconds since the epoch. */
  at: number;
  /** 0 to 1. */
  importance: number;
  /** The only conversation in which the document is found; absent for a public document. */
  conversation?: string | undefined;
}

/** A found document. `share`: the matching part of the query's total weight, 0 to 1. */
export interface Hit {
  id: string;
  score: number;
  share: number;
}

/** A search query. */
export interface Search {
  query: string;
  limit: number;
  /** The conversation of the caller; documents of other conversations are not found. */
  conversation?: string | undefined;
  /** Milliseconds since the epoch. */
  now: number;
  /** Minimum part of the terms that a document must contain; 0: at least one term. */
  coverage?: number;
  /** Terms that are ignored. */
  ignored?: ReadonlySet<string>;
  /** If set, finds only documents with at least one term that is neither in this set nor in the author's name. */
  known?: ReadonlySet<string>;
}

/** A document with its terms in place of its text. */
interface Row extends Omit<Document, "text"> {
  /** Number of occurrences by term. */
  counts: ReadonlyMap<string, number>;
}

/** Creates a predicate that is true for rows with a term that is neither known nor in the author's name. */
function hasNewTerm(known: ReadonlySet<string>): (row: Row) => boolean {
  const names = new Map<string, ReadonlySet<string>>();
  return ({ author, counts }) => {
    const name = author ?? "";
    let nameTerms = names.get(name);
    if (!nameTerms) names.set(name, (nameTerms = new Set(textTerms(name))));
    for (const term of counts.keys()) if (!known.has(term) && !nameTerms.has(term)) return true;
    return false;
  };
}

/** Creates an empty index. Scoring reads only postings and lengths, which are arrays of numbers. */
export function createSearchIndex() {
  let rows: Row[] = [];
  /** Number of terms of each row; 0 for a dropped row. */
  let lengths: number[] = [];
  /** By term, the rows that contain it, each followed by its number of occurrences. */
  let postings = new Map<string, number[]>();
  /** Row numbers by document id. */
  const rowNumbers = new Map<string, number>();
  let totalLength = 0;

  const insert = (row: Row, length: number): void => {
    for (const [term, count] of row.counts) {
      const list = postings.get(term);
      if (list) list.push(rows.length, count);
      else postings.set(term, [rows.length, count]);
    }
    rowNumbers.set(row.id, rows.length);
    rows.push(row);
    lengths.push(length);
  };

  const compact = (): void => {
    const oldRows = rows;
    const oldLengths = lengths;
    [rows, lengths, postings] = [[], [], new Map()];
    for (const [index, row] of oldRows.entries()) if (oldLengths[index]! > 0) insert(row, oldLengths[index]!);
  };

  /** Computes for each row the score, the weight and the number of its matching terms, and the total weight of all terms. */
  const scoreRows = (terms: readonly string[]) => {
    const documentCount = rowNumbers.size;
    const scores = new Float64Array(rows.length);
    const matchedWeights = new Float64Array(rows.length);
    const matchCounts = new Uint16Array(rows.length);
    // K1·B, divided by the average length of a document.
    const lengthFactor = (K1 * B * documentCount) / totalLength;
    let totalWeight = 0;
    for (const list of terms.map((term) => postings.get(term) ?? [])) {
      // Dropped rows stay in the postings until the index is compacted.
      const documentsWithTerm = Math.min(list.length / 2, documentCount);
      const weight = Math.log(1 + (documentCount - documentsWithTerm + 0.5) / (documentsWithTerm + 0.5));
      totalWeight += weight;
      for (let position = 0; position < list.length; position += 2) {
        const row = list[position]!;
        const length = lengths[row]!;
        if (length === 0) continue;
        const count = list[position + 1]!;
        scores[row]! += (weight * (K1 + 1) * count) / (count + K1 * (1 - B) + lengthFactor * length);
        matchedWeights[row]! += weight;
        matchCounts[row]!++;
      }
    }
    return { scores, matchedWeights, matchCounts, totalWeight };
  };

  return {
    get size(): number {
      return rowNumbers.size;
    },
    add({ text, ...document }: Document): void {
      const terms = textTerms(document.author ? `${document.author} ${text}` : text);
      if (rowNumbers.has(document.id) || terms.length === 0) return;
      const counts = new Map<string, number>();
      for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
      insert({ ...document, counts }, terms.length);
      totalLength += terms.length;
    },
    drop(id: string): void {
      const row = rowNumbers.get(id);
      if (row === undefined) return;
      totalLength -= lengths[row]!;
      lengths[row] = 0;
      rowNumbers.delete(id);
      if (rows.length - rowNumbers.size >= Math.max(MIN_DROPPED_TO_COMPACT, rowNumbers.size)) compact();
    },
    /** Finds the best documents, best first; of equal ones the later comes first. */
    search({ query, limit, conversation: callerConversation, now, coverage = 0, ignored, known }: Search): Hit[] {
      const terms = queryTerms(query)
        .filter((term) => !ignored?.has(term))
        .slice(0, MAX_TERMS);
      const { scores, matchedWeights, matchCounts, totalWeight } = scoreRows(terms);
      const isNew = known && hasNewTerm(known);
      const hits: Hit[] = [];
      scores.forEach((relevance, row) => {
        const minScore = hits.length < limit ? 0 : hits.at(-1)!.score;
        if (relevance === 0 || matchCounts[row]! < coverage * terms.length) return;
        const maxScore = relevance * (1 + RECENCY + IMPORTANCE);
        if (maxScore < minScore || (isNew && !isNew(rows[row]!))) return;
        const { id, at, importance, conversation } = rows[row]!;
        if (conversation !== undefined && conversation !== callerConversation) return;
        const recency = 2 ** (-Math.max(0, now - at) / HALF_LIFE_MS);
        const score = relevance * (1 + RECENCY * recency + IMPORTANCE * importance);
        if (score < minScore) return;
        const position = hits.findIndex((other) => other.score <= score);
        hits.splice(position === -1 ? hits.length : position, 0, {
          id,
          score,
          share: matchedWeights[row]! / totalWeight,
        });
        hits.length = Math.min(hits.length, limit);
      });
      return hits;
    },
  };
}
