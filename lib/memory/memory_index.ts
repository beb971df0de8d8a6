/**
 * Indexes memories separately: records and statements of people. So statements neither hide a record nor affect which terms are
 * rare in records.
 */
import { memoryBasis, type Memory, type MemoryKind } from "../projections/memory.ts";
import { type Hit, type Search, createSearchIndex } from "./search_index.ts";
import { textTerms } from "./tokens.ts";

/** Importance of each kind, 0 to 1. */
const IMPORTANCE: Record<MemoryKind, number> = {
  decision: 1,
  outcome: 1,
  verdict: 1,
  rollback: 1,
  feedback: 0.8,
  proposal: 0.8,
  insight: 0.7,
  kpi: 0.4,
  chat: 0.2,
};

/** A record ranks before statements if its share of the query's weight is at least this part of the best statement's share. */
const MIN_RELATIVE_SHARE = 0.2;

/** The index of memories. */
export type MemoryIndex = ReturnType<typeof createMemoryIndex>;

/** Creates an empty index. Results are relevant records first, then statements of people, then the other records. */
export function createMemoryIndex() {
  const records = createSearchIndex();
  const statements = createSearchIndex();
  return {
    add(id: string, { kind, text, author = null, at, ...memory }: Memory): void {
      // A message without a conversation is stored under an empty name, which no search uses.
      const conversation = kind === "chat" ? (memory.conversation ?? "") : undefined;
      const document = { id, text, at: Date.parse(at), importance: IMPORTANCE[kind], conversation };
      if (memoryBasis(kind) === "record") records.add(document);
      else statements.add({ ...document, author });
    },
    drop(id: string): void {
      for (const index of [records, statements]) index.drop(id);
    },
    /** Searches both indexes. `known`: a statement is found only if it has a term that is not in this set. */
    search({ known, ...search }: Search): Hit[] {
      const recordHits = records.search(search);
      const statementHits = statements.search({ ...search, known: known ?? new Set(textTerms(search.query)) });
      const minShare = MIN_RELATIVE_SHARE * Math.max(0, ...statementHits.map(({ share }) => share));
      const relevantRecords = recordHits.filter(({ share }) => share >= minShare);
      const otherRecords = recordHits.filter(({ share }) => share < minShare);
      const ranked = [...relevantRecords, ...statementHits, ...otherRecords];
      if (known || ranked.length >= search.limit) return ranked.slice(0, search.limit);
      // Statements that only repeat the words of the query come last.
      const all = [...ranked, ...statements.search(search)];
      return [...new Map(all.map((hit) => [hit.id, hit])).values()].slice(0, search.limit);
    },
  };
}
