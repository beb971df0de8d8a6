/** An index in memory, ranked by BM25 and then by how recent and how important a document is. */
import { queryTerms, textTerms } from "./tokens.ts";

const K1 = 1.2;
const B = 0.75;
const HALF_LIFE_MS = 30 * 24 * 3600 * 1000;
/** Together they move a document past another of up to 30 % more relevance, and order those that are as relevant. */
const RECENCY = 0.2;
const IMPORTANCE = 0.1;
/** Dropped documents stay in the lists of their terms until they are this many and half of all. */
const COMPACT_AT = 1000;
/** A long message is looked for by its beginning. */
const MOST_TERMS = 64;

/** What is indexed. */
export interface Document {
  id: string;
  text: string;
  /** Milliseconds since the epoch. */
  at: number;
  /** 0 to 1. */
  importance: number;
}

/** A document found; `score` has no unit. */
export interface Hit {
  id: string;
  score: number;
}

/** What to look for. */
export interface Search {
  query: string;
  limit: number;
  /** Milliseconds since the epoch. */
  now: number;
  /** The share of the terms that a document must hold at least; 0: any one. */
  coverage?: number;
  /** Terms that are not looked for. */
  ignored?: ReadonlySet<string>;
}

/** A document with its terms in place of its text. */
interface Row extends Omit<Document, "text"> {
  /** How often it holds each of its terms. */
  counts: ReadonlyMap<string, number>;
}

/** Full-text search over documents that come at one end and mostly go at the other. */
export type SearchIndex = ReturnType<typeof searchIndex>;

/** An empty index. Postings and lengths are arrays of numbers: scoring reads nothing else. */
export function searchIndex() {
  let rows: Row[] = [];
  /** How many terms each row has, 0 once it is dropped. */
  let lengths: number[] = [];
  /** The rows that hold a term, each followed by how often it does. */
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

  /** What each row has of the terms: the sum of their weights, and how many of them. */
  const score = (terms: readonly string[]) => {
    const size = rowOf.size;
    const scores = new Float64Array(rows.length);
    const matched = new Uint16Array(rows.length);
    const perTerm = (K1 * B * size) / totalLength;
    for (const list of terms.map((term) => postings.get(term) ?? [])) {
      const held = Math.min(list.length / 2, size);
      const weight = Math.log(1 + (size - held + 0.5) / (held + 0.5)) * (K1 + 1);
      for (let i = 0; i < list.length; i += 2) {
        const row = list[i]!;
        const length = lengths[row]!;
        if (length === 0) continue;
        const count = list[i + 1]!;
        scores[row]! += (weight * count) / (count + K1 * (1 - B) + perTerm * length);
        matched[row]!++;
      }
    }
    return { scores, matched };
  };

  return {
    get size(): number {
      return rowOf.size;
    },
    add({ text, ...document }: Document): void {
      const terms = textTerms(text);
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
    /** The best documents, best first; of equal ones the later. */
    search({ query, limit, now, coverage = 0, ignored }: Search): Hit[] {
      const terms = queryTerms(query)
        .filter((term) => !ignored?.has(term))
        .slice(0, MOST_TERMS);
      const { scores, matched } = score(terms);
      const hits: Hit[] = [];
      scores.forEach((found, row) => {
        const least = hits.length < limit ? 0 : hits.at(-1)!.score;
        if (found === 0 || matched[row]! < coverage * terms.length) return;
        if (found * (1 + RECENCY + IMPORTANCE) < least) return;
        const { id, at, importance } = rows[row]!;
        const recency = 2 ** (-Math.max(0, now - at) / HALF_LIFE_MS);
        const hit = { id, score: found * (1 + RECENCY * recency + IMPORTANCE * importance) };
        if (hit.score < least) return;
        const place = hits.findIndex((other) => other.score <= hit.score);
        hits.splice(place === -1 ? hits.length : place, 0, hit);
        hits.length = Math.min(hits.length, limit);
      });
      return hits;
    },
  };
}
