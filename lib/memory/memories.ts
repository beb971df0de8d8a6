/** Autobiographical memory: what the service lived through, in sentences. Bounded; the audit log is the record. */
import * as z from "zod";
import { addMemory, type Memory, MEMORY_KINDS, type MemoryKind } from "../follow/memory_row.ts";
import type { Ring } from "../follow/ring.ts";
import type { Tx } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Meta {
    memories: Ring;
  }
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

/** Remembers what no entry tells of, in the transaction of what it is about. */
export async function remember(tx: Tx, memory: Memory): Promise<void> {
  const ring = (await tx.get("meta", "memories"))?.value;
  tx.put("meta", "memories", await addMemory(tx, "memories", ring, memory));
}
