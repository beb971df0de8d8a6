/** One memory: a sentence about something the service lived through. */
import type { Tx } from "../store/store.ts";
import { push, type Ring } from "./ring.ts";

declare module "../store/store.ts" {
  interface Collections {
    record_memories: Memory;
    outcome_memories: Memory;
    memories: Memory;
  }
  interface Meta {
    memories: Ring;
  }
}

export const MEMORY_KINDS = ["decision", "outcome", "rollback", "feedback", "kpi", "chat", "insight"] as const;
export type MemoryKind = (typeof MEMORY_KINDS)[number];

/** Where memories lie: made of entries, made of outcomes, or of neither. */
export const MEMORY_SOURCES = ["record_memories", "outcome_memories", "memories"] as const;
export type MemorySource = (typeof MEMORY_SOURCES)[number];

/** The oldest memories of a source go first. */
export const MEMORIES_KEPT = 20_000;

const LONGEST = 2000;

/** `ref` names the record it is about. */
export interface Memory {
  kind: MemoryKind;
  text: string;
  at: string;
  ref: string | null;
}

/** Adds a memory, a long one by its beginning, and resolves with the ring then. */
export async function addMemory(
  tx: Tx,
  source: MemorySource,
  ring: Ring | undefined,
  memory: Memory,
  least?: number,
): Promise<Required<Ring>> {
  const kept = { ...memory, text: memory.text.slice(0, LONGEST).toWellFormed() };
  return (await push(tx, source, ring, () => kept, { most: MEMORIES_KEPT, ...(least && { least }) })).ring;
}

/** Remembers what no entry tells of, in the transaction of what it is about. */
export async function remember(tx: Tx, memory: Memory): Promise<void> {
  const ring = (await tx.get("meta", "memories"))?.value;
  tx.put("meta", "memories", await addMemory(tx, "memories", ring, memory));
}
