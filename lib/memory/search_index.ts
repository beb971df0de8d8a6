/** A search index in memory. Results are ranked by BM25, adjusted by age and importance. */
import { queryTerms, textTerms } from "./tokens.ts";

const K1 = 1.2;
const B = 0.75;
const HALF_LIFE_MS = 30 * 24 * 3600 * 1000;
/** Weights of age and importance. Together they can outweigh a difference in relevance of up to 30 %. */
const RECENCY = 0.2;
const IMPORTANCE = 0.1;
/** Dropped documents stay in the postings until there are this many, and half of all documents are dropped. */
const COMPACT_AT = 1000;
/** Maximum number of terms of a query; further ones are ignored. */
const MAX_TERMS = 64;

/** A document to index; its author is a search term too. */
export interface Document {
  id: string;
  text: string;
  author?: string | null;
  /** Milliseconds since the epoch. */
  at: number;
  /** 0 to 1. */
  importance: number;
  /** A private document: the only conversation in which it is found. */
  conversation?: string | undefined;
}

/** A found document; `score` has no unit, `share` is the weighted part of the query that it contains, 0 to 1. */
export interface Hit {
  id: string;
  score: number;
  share: number;
}

/** A search query. */
export interface Search {
  query: string;
  limit: number;
  /** The conversation of the caller; what was said in another one is not found. Absent: no conversation is searched. */
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

/** Returns a predicate: a row has a term other than the known ones and its author's name. */
function hasNewTerm(known: ReadonlySet<string>): (row: Row) => boolean {
  const names = new Map<string, ReadonlySet<string>>();
  return ({ author, counts }) => {
    const by = author ?? "";
    let own = names.get(by);
    if (!own) names.set(by, (own = new Set(textTerms(by))));
    for (const term of counts.keys()) if (!known.has(term) && !own.has(term)) return true;
    return false;
  };
}

/** Creates an empty index. Postings and lengths are arrays of numbers: scoring reads nothing else. */
export function createSearchIndex() {
  let rows: Row[] = [];
  /** Number of terms of each row; 0 once it is dropped. */
  let lengths: number[] = [];
  /** Rows that contain a term, each followed by its number of occurrences. */
  let postings = new Map<string, number[]>();
  const rowOf = new Map<string, number>();
  let totalLength = 0;

  const insert = (row: Row, length: number): void => {
    for (const [term, count] of row.counts) {
      const list = postings.get(term);
      if (list) list.push(rows.length, count);
      else postings.set(term, [rows.length, count]);
    }
    rowOf.set(row.id, rows.length);
    rows.push(row);
    lengths.push(length);
  };

  const compact = (): void => {
    const [before, lengthsBefore] = [rows, lengths];
    [rows, lengths, postings] = [[], [], new Map()];
    before.forEach((row, index) => lengthsBefore[index]! > 0 && insert(row, lengthsBefore[index]!));
  };

  /** Computes for each row the score, the weight and the number of its matching terms, and the total weight of all terms. */
  const score = (terms: readonly string[]) => {
    const size = rowOf.size;
    const scores = new Float64Array(rows.length);
    const matchedWeights = new Float64Array(rows.length);
    const matched = new Uint16Array(rows.length);
    const perTerm = (K1 * B * size) / totalLength;
    let totalWeight = 0;
    for (const list of terms.map((term) => postings.get(term) ?? [])) {
      const documentCount = Math.min(list.length / 2, size);
      const weight = Math.log(1 + (size - documentCount + 0.5) / (documentCount + 0.5));
      totalWeight += weight;
      for (let i = 0; i < list.length; i += 2) {
        const row = list[i]!;
        const length = lengths[row]!;
        if (length === 0) continue;
        const count = list[i + 1]!;
        scores[row]! += (weight * (K1 + 1) * count) / (count + K1 * (1 - B) + perTerm * length);
        matchedWeights[row]! += weight;
        matched[row]!++;
      }
    }
    return { scores, matchedWeights, matched, totalWeight };
  };

  return {
    get size(): number {
      return rowOf.size;
    },
    add({ text, ...document }: Document): void {
      const terms = textTerms(document.author ? `${document.author} ${text}` : text);
      if (rowOf.has(document.id) || terms.length === 0) return;
      const counts = new Map<string, number>();
      for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
      insert({ ...document, counts }, terms.length);
      totalLength += terms.length;
    },
    drop(id: string): void {
      const row = rowOf.get(id);
      if (row === undefined) return;
      totalLength -= lengths[row]!;
      lengths[row] = 0;
      rowOf.delete(id);
      if (rows.length - rowOf.size >= Math.max(COMPACT_AT, rowOf.size)) compact();
    },
    /** Finds the best documents, best first; of equal ones the later comes first. */
    search({ query, limit, conversation: own, now, coverage = 0, ignored, known }: Search): Hit[] {
      const terms = queryTerms(query)
        .filter((term) => !ignored?.has(term))
        .slice(0, MAX_TERMS);
      const { scores, matchedWeights, matched, totalWeight } = score(terms);
      const hasNew = known && hasNewTerm(known);
      const hits: Hit[] = [];
      scores.forEach((found, row) => {
        const least = hits.length < limit ? 0 : hits.at(-1)!.score;
        if (found === 0 || matched[row]! < coverage * terms.length) return;
        if (found * (1 + RECENCY + IMPORTANCE) < least || (hasNew && !hasNew(rows[row]!))) return;
        const { id, at, importance, conversation } = rows[row]!;
        if (conversation !== undefined && conversation !== own) return;
        const recency = 2 ** (-Math.max(0, now - at) / HALF_LIFE_MS);
        const score = found * (1 + RECENCY * recency + IMPORTANCE * importance);
        if (score < least) return;
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
