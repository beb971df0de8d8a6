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

/** Full-text search over documents that come at one end and mostly go at the other. */
export interface SearchIndex {
  readonly size: number;
  add(document: Document): void;
  drop(id: string): void;
  /** The best documents, best first; of equal ones the later. */
  search(search: Search): Hit[];
}

/** A document without its text. */
type Row = Omit<Document, "text">;

/** The rows that hold a term, and how often each does. */
interface Postings {
  rows: number[];
  counts: number[];
}

/** An empty index. */
export function searchIndex(): SearchIndex {
  const postings = new Map<string, Postings>();
  const rowOf = new Map<string, number>();
  let rows: Row[] = [];
  /** How many terms each row has, 0 once it is dropped; apart from the rows, since scoring reads nothing else of them. */
  let lengths: number[] = [];
  let totalLength = 0;

  const forget = (row: number): void => {
    totalLength -= lengths[row]!;
    lengths[row] = 0;
    rowOf.delete(rows[row]!.id);
  };

  const compact = (): void => {
    const dropped = rows.length - rowOf.size;
    if (dropped < COMPACT_AT || dropped < rowOf.size) return;
    const moved: number[] = [];
    let kept = 0;
    for (const length of lengths) moved.push(length > 0 ? kept++ : -1);
    for (const [term, list] of postings) {
      const left = remaining(list, moved);
      if (left.rows.length > 0) postings.set(term, left);
      else postings.delete(term);
    }
    rows = rows.filter((_, row) => lengths[row]! > 0);
    lengths = lengths.filter((length) => length > 0);
    rows.forEach(({ id }, row) => rowOf.set(id, row));
  };

  return {
    get size() {
      return rowOf.size;
    },
    add({ text, ...document }) {
      const terms = textTerms(text);
      if (rowOf.has(document.id) || terms.length === 0) return;
      for (const [term, count] of counted(terms)) {
        let list = postings.get(term);
        if (!list) postings.set(term, (list = { rows: [], counts: [] }));
        list.rows.push(rows.length);
        list.counts.push(count);
      }
      rowOf.set(document.id, rows.length);
      rows.push(document);
      lengths.push(terms.length);
      totalLength += terms.length;
    },
    drop(id) {
      const row = rowOf.get(id);
      if (row !== undefined) forget(row);
      compact();
    },
    search({ query, limit, now, coverage = 0, ignored }) {
      const terms = queryTerms(query)
        .filter((term) => !ignored?.has(term))
        .slice(0, MOST_TERMS);
      const scores = new Float64Array(rows.length);
      const matched = new Uint16Array(rows.length);
      for (const term of terms) {
        const list = postings.get(term);
        if (list) score(list, lengths, totalLength / rowOf.size, rowOf.size, scores, matched);
      }
      const needed = Math.max(1, coverage * terms.length);
      const hits = bestOf(limit);
      for (let row = 0; row < scores.length; row++) {
        const found = scores[row]!;
        if (found === 0 || matched[row]! < needed || found * (1 + RECENCY + IMPORTANCE) < hits.least()) continue;
        const { id, at, importance } = rows[row]!;
        const recency = 2 ** (-Math.max(0, now - at) / HALF_LIFE_MS);
        hits.offer({ id, score: found * (1 + RECENCY * recency + IMPORTANCE * importance) });
      }
      return hits.all;
    },
  };
}

/** Adds what one term contributes to each row that holds it. */
function score(
  list: Postings,
  lengths: readonly number[],
  meanLength: number,
  size: number,
  scores: Float64Array,
  matched: Uint16Array,
): void {
  const held = Math.min(list.rows.length, size);
  const weight = Math.log(1 + (size - held + 0.5) / (held + 0.5)) * (K1 + 1);
  const perTerm = (K1 * B) / meanLength;
  for (let i = 0; i < list.rows.length; i++) {
    const row = list.rows[i]!;
    const length = lengths[row]!;
    if (length === 0) continue;
    const count = list.counts[i]!;
    scores[row]! += (weight * count) / (count + K1 * (1 - B) + perTerm * length);
    matched[row]!++;
  }
}

function counted(terms: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
}

/** `moved`: each row's new place, -1 for one that is dropped. */
function remaining(list: Postings, moved: readonly number[]): Postings {
  const left: Postings = { rows: [], counts: [] };
  list.rows.forEach((row, i) => {
    const place = moved[row]!;
    if (place === -1) return;
    left.rows.push(place);
    left.counts.push(list.counts[i]!);
  });
  return left;
}

/** Keeps the best `limit` of the hits offered, in order. */
function bestOf(limit: number) {
  const all: Hit[] = [];
  const least = (): number => (all.length < limit ? 0 : all.at(-1)!.score);
  const offer = (hit: Hit): void => {
    if (hit.score < least()) return;
    let place = all.length;
    while (place > 0 && all[place - 1]!.score <= hit.score) place--;
    all.splice(place, 0, hit);
    if (all.length > limit) all.pop();
  };
  return { all, least, offer };
}
