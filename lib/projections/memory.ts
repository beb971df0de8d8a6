/** Memories: what the service lived through and what was said to it, in rings of their own, so that none crowds out another. */
import { shorten } from "../kit/quote.ts";
import type { Tx } from "../store/store.ts";
import { push, type Ring } from "./ring.ts";

declare module "../store/store.ts" {
  interface Collections {
    record_memories: Memory;
    proposal_memories: Memory | Proposed;
    outcome_memories: Memory;
    memories: Memory;
    chat_memories: Memory;
  }
  interface Meta {
    memories: SaidRing;
  }
}

export const MEMORY_KINDS = [
  "proposal",
  "decision",
  "outcome",
  "verdict",
  "rollback",
  "kpi",
  "feedback",
  "insight",
  "chat",
] as const;
export type MemoryKind = (typeof MEMORY_KINDS)[number];

/** What somebody said, and nobody checked; all else is made of the audit log. */
const SAID: ReadonlySet<MemoryKind> = new Set(["feedback", "insight", "chat"]);

/** Whether a memory is made of the records or of what somebody said. */
export const basisOf = (kind: MemoryKind): "record" | "said" => (SAID.has(kind) ? "said" : "record");

/**
 * Where memories lie: made of entries, of proposals among these, and of outcomes; and of no entry, conversation apart from the
 * rest. Each is bounded by itself, so that what anybody can make many of displaces nothing else.
 */
export const MEMORY_SOURCES = [
  "record_memories",
  "proposal_memories",
  "outcome_memories",
  "memories",
  "chat_memories",
] as const;
export type MemorySource = (typeof MEMORY_SOURCES)[number];

/** The oldest memories of a source go first. */
export const MEMORIES_KEPT = 20_000;

/** Longer memories are kept, and told, by their beginning. */
export const LONGEST_MEMORY = 2000;

/** `ref` names the record it is about. */
export interface Memory {
  kind: MemoryKind;
  /** Of a record a sentence of ours, in which people are quoted; of what was said the words as they were. */
  text: string;
  /** Name of the person who decided, proposed or said it; null where none is recorded. */
  author: string | null;
  at: string;
  ref: string | null;
  /** Of chat: the only conversation in which it is found. */
  conversation?: string;
}

/** The memory of a proposal, whose words are those of the change: the id of that. */
export type Proposed = string;

/** Adds a memory, a long one by its beginning, and resolves with the ring then. */
export async function addMemory(
  tx: Tx,
  source: MemorySource,
  ring: Ring | undefined,
  memory: Memory | Proposed,
  least?: number,
): Promise<Ring> {
  const kept = typeof memory !== "string" ? { ...memory, text: shorten(memory.text, LONGEST_MEMORY) } : memory;
  return push(tx, source, ring, () => kept, { most: MEMORIES_KEPT, ...(least && { least }) });
}

/** `meta/memories`: what has no entry is numbered together, so that no two have one id, and counted apart. */
interface SaidRing extends Ring {
  /** How many memories of conversation are kept. */
  chat: number;
}

/** Remembers what no entry tells of, in the transaction of what it is about. */
export async function remember(tx: Tx, memory: Memory): Promise<void> {
  const { seq, count, chat } = (await tx.get("meta", "memories"))?.value ?? { seq: 0, count: 0, chat: 0 };
  if (memory.kind === "chat") {
    const ring = await addMemory(tx, "chat_memories", { seq, count: chat }, memory);
    tx.put("meta", "memories", { seq: ring.seq, count, chat: ring.count });
  } else {
    const ring = await addMemory(tx, "memories", { seq, count }, memory);
    tx.put("meta", "memories", { ...ring, chat });
  }
}

/** Forgets one of these. */
export async function forgetSaid(tx: Tx, source: "memories" | "chat_memories", id: string): Promise<void> {
  const ring = (await tx.get("meta", "memories"))?.value;
  const member = source === "memories" ? "count" : "chat";
  tx.delete(source, id);
  if (ring) tx.put("meta", "memories", { ...ring, [member]: ring[member] - 1 });
}
