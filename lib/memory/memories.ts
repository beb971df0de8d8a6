/** Autobiographical memory: what the service lived through, in sentences. Bounded; the audit log is the record. */
import * as z from "zod";
import type { Store, Tx } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    memories: Memory;
  }
  interface Meta {
    memories: Count;
  }
}

/** The oldest go first. */
export const MEMORIES = 20_000;

export const MEMORY_KINDS = ["decision", "outcome", "rollback", "feedback", "kpi", "chat", "insight"] as const;
export type MemoryKind = (typeof MEMORY_KINDS)[number];

const LONGEST = 2000;

/** `memories/<16 digits>`, counting up: one memory; `ref` names the record it is about. */
export interface Memory {
  kind: MemoryKind;
  text: string;
  at: string;
  ref: string | null;
}

/** A memory as it is found. */
export const recalledSchema = z.object({
  id: z.string(),
  kind: z.enum(MEMORY_KINDS),
  text: z.string(),
  at: z.string(),
  /** How well it fits; for comparing within one answer. */
  score: z.number(),
  ref: z.string().nullable(),
});
export type Recalled = z.infer<typeof recalledSchema>;

/** How much more a kind matters than another, 0 to 1. */
export const IMPORTANCE: Record<MemoryKind, number> = {
  decision: 1,
  outcome: 1,
  rollback: 1,
  feedback: 0.8,
  insight: 0.7,
  kpi: 0.4,
  chat: 0.2,
};

/** The id a memory is cited by, from its record id. */
export const memoryId = (key: string): string => `mem_${key}`;

/** `meta/memories` */
interface Count {
  /** Number of the newest memory. */
  seq: number;
  count: number;
}

const keyOf = (seq: number): string => String(seq).padStart(16, "0");

/** The record id of the newest memory; one before all others while there is none. */
export const newestMemory = async (reader: Pick<Store | Tx, "get">): Promise<string> =>
  keyOf((await reader.get("meta", "memories"))?.value.seq ?? 0);

/**
 * Remembers something in the transaction of what it tells of; beyond the bound the oldest is forgotten. `replaces` is the
 * record id of a memory that this one makes needless. Resolves with the new record id.
 */
export async function remember(
  tx: Tx,
  memory: Omit<Memory, "ref"> & { ref?: string | null },
  replaces?: string,
): Promise<string> {
  const kept = await tx.get("meta", "memories");
  let { seq, count } = kept?.value ?? { seq: 0, count: 0 };
  if (replaces !== undefined && (await tx.get("memories", replaces))) {
    tx.delete("memories", replaces);
    count--;
  }
  const key = keyOf(++seq);
  const text = memory.text.slice(0, LONGEST).toWellFormed();
  tx.put("memories", key, { ref: null, ...memory, text });
  if (++count > MEMORIES)
    for (const { id } of await tx.list("memories", { limit: count - MEMORIES })) {
      tx.delete("memories", id);
      count--;
    }
  tx.put("meta", "memories", { seq, count }, kept?.revision ?? 0);
  return key;
}
