/** What the service lived through, in sentences: of entries one a decision or operation, and one a day of KPIs. */
import type { Tx } from "../store/store.ts";
import type { Entry } from "./entries.ts";
import type { Follower, Following, ToldChange } from "./follower.ts";
import { push, type Ring, ringKey, seqAt } from "./ring.ts";

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

interface State {
  memories: Required<Ring>;
  /** The day of the newest feed, what was fed on it so far, and the memory of that. */
  fed: { day: string; values: Record<string, number>; seq: number } | null;
}

/** The kinds that older versions kept among what has no entry. */
const RECORDED: readonly MemoryKind[] = ["decision", "outcome", "rollback", "kpi"];

export const memories: Follower<State> = {
  name: "memories",
  collections: ["record_memories"],
  retired: [
    { collection: "memories", where: (value) => RECORDED.includes((value as Memory).kind), ring: "memories" },
    { collection: "meta", id: "kpi_memory" },
  ],
  start: { memories: { seq: 0, count: 0 }, fed: null },
  async follow(on, entry, step) {
    if (entry.event_type === "kpi_refreshed") return rememberKpis(on, entry);
    if (entry.event_type === "content_erased") return forget(on, entry, step);
    const told = toldBy(entry);
    if (!told) return undefined;
    const text = `${named(await on.change(entry.change_id))}: ${told.text}`;
    return keep(on, { kind: told.kind, text, at: entry.timestamp, ref: entry.change_id });
  },
};

/** A change in a sentence. */
export const named = ({ target, tenant_id, summary }: ToldChange): string => `${target} of ${tenant_id} (${summary})`;

function toldBy({ event_type, facts }: Entry): Pick<Memory, "kind" | "text"> | undefined {
  const { decision, progress, approver, note, stage, error, state, by } = facts;
  switch (event_type) {
    case "consent_decision": {
      const text = `${decision}${progress ? ` (${progress})` : ""} by ${approver}${note ? `: ${note}` : ""}`;
      return { kind: "decision", text };
    }
    case "change_applied":
      return { kind: "outcome", text: "applied" };
    case "change_apply_failed":
      return { kind: "outcome", text: `apply failed in ${stage}: ${error}` };
    case "change_drifted":
      return { kind: "outcome", text: `the host no longer shows it: ${state}` };
    case "change_rolled_back":
      return { kind: "rollback", text: `rolled back${by ? ` by ${by}` : ""}` };
    case "change_rollback_failed":
      return { kind: "rollback", text: `rollback failed in ${stage}: ${error}` };
    default:
      return undefined;
  }
}

async function keep(on: Following<State>, memory: Memory): Promise<void> {
  const least = seqAt(on.position);
  on.state = { ...on.state, memories: await addMemory(on.tx, "record_memories", on.state.memories, memory, least) };
}

/** Forgets what was told of a change whose content is erased, for it names the change by that. */
async function forget(on: Following<State>, { id, change_id }: Entry, step: string): Promise<string | void> {
  const before = (await on.entriesAbout(change_id)).filter((entry) => entry < id);
  for (let index = Number(step); index < before.length; index++) {
    if (!on.room(1)) return String(index);
    const key = ringKey(seqAt(before[index]!));
    if (!(await on.tx.get("record_memories", key))) continue;
    on.tx.delete("record_memories", key);
    const { memories } = on.state;
    on.state = { ...on.state, memories: { ...memories, count: memories.count - 1 } };
  }
}

/** A later feed of the same day replaces what an earlier one left. */
async function rememberKpis(on: Following<State>, { timestamp: at, facts }: Entry): Promise<void> {
  const day = at.slice(0, 10);
  const { fed, memories } = on.state;
  const before = fed?.day === day ? fed : undefined;
  const values = { ...before?.values, ...facts.values };
  if (before && (await on.tx.get("record_memories", ringKey(before.seq)))) {
    on.tx.delete("record_memories", ringKey(before.seq));
    on.state = { ...on.state, memories: { ...memories, count: memories.count - 1 } };
  }
  const told = Object.entries(values).map(([kpi, value]) => `${kpi} ${value}`);
  const effect = facts.E == null ? "" : `; E ${Number(facts.E.toFixed(3))}`;
  await keep(on, { kind: "kpi", text: `KPIs of ${day}: ${told.join(", ")}${effect}`, at, ref: day });
  on.state = { ...on.state, fed: { day, values, seq: on.state.memories.seq } };
}

/** Remembers what no entry tells of, in the transaction of what it is about. */
export async function remember(tx: Tx, memory: Memory): Promise<void> {
  const ring = (await tx.get("meta", "memories"))?.value;
  tx.put("meta", "memories", await addMemory(tx, "memories", ring, memory));
}
