/** What is remembered of entries: a sentence a decision or operation, and one a day of KPIs. */
import type { Entry } from "./entries.ts";
import type { Follower, Following } from "./follower.ts";
import { addMemory, type Memory, type MemoryKind } from "./memory_row.ts";
import { type Ring, ringKey, seqAt } from "./ring.ts";
import type { ToldChange } from "./source.ts";

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
    { collection: "memories", where: (value) => RECORDED.includes((value as Memory).kind) },
    { collection: "meta", id: "kpi_memory" },
  ],
  start: { memories: { seq: 0, count: 0 }, fed: null },
  async follow(on, entry) {
    if (entry.event_type === "kpi_refreshed") return rememberKpis(on, entry);
    const told = toldBy(entry);
    if (!told) return undefined;
    const text = `${named(await on.change(entry.change_id))}: ${told.text}`;
    return remember(on, { kind: told.kind, text, at: entry.timestamp, ref: entry.change_id });
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

async function remember(on: Following<State>, memory: Memory): Promise<void> {
  const least = seqAt(on.position);
  on.state = { ...on.state, memories: await addMemory(on.tx, "record_memories", on.state.memories, memory, least) };
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
  await remember(on, { kind: "kpi", text: `KPIs of ${day}: ${told.join(", ")}${effect}`, at, ref: day });
  on.state = { ...on.state, fed: { day, values, seq: on.state.memories.seq } };
}
