/** What the service lived through, in sentences: of entries one a proposal, decision or operation, and one a day of KPIs. */
import { quote } from "../kit/quote.ts";
import { describeValues } from "../wording/describe.ts";
import { nameActor } from "../wording/names.ts";
import { joinParts } from "../wording/part.ts";
import type { Entry } from "./entries.ts";
import type { Follower, Following } from "./follower.ts";
import { addMemory, type Memory, type Proposed } from "./memory.ts";
import { describeMemory } from "./memory_sentences.ts";
import { type Ring, ringKey, seqAt } from "./ring.ts";

/** What is made of entries: proposals, which anybody may make many of, apart from the rest. */
type Derived = "record_memories" | "proposal_memories";

interface State {
  rings: Record<Derived, Ring>;
  /** The day of the newest feed, what was fed on it so far and noted of it, and the memory of that. */
  fed: { day: string; values: Record<string, number>; note: string; seq: number } | null;
}

const LONGEST_NOTE = 500;
const EMPTY = { seq: 0, count: 0 };

export const memories: Follower<State> = {
  name: "memories",
  version: 5,
  collections: ["record_memories", "proposal_memories"],
  start: { rings: { record_memories: EMPTY, proposal_memories: EMPTY }, fed: null },
  async follow(on, entry, step) {
    if (entry.event_type === "kpi_refreshed") return rememberKpis(on, entry);
    if (entry.event_type === "content_erased") return forget(on, entry, step);
    const { change_id, timestamp: at } = entry;
    if (entry.event_type === "change_proposed") return keep(on, "proposal_memories", change_id);
    const described = describeMemory(entry, change_id === "" ? undefined : await on.change(change_id));
    const source = described?.kind === "proposal" ? "proposal_memories" : "record_memories";
    if (described) await keep(on, source, { ...described, at, ref: change_id || null });
  },
};

async function keep(on: Following<State>, source: Derived, memory: Memory | Proposed): Promise<void> {
  const ring = await addMemory(on.tx, source, on.state.rings[source], memory, seqAt(on.position));
  on.state = { ...on.state, rings: { ...on.state.rings, [source]: ring } };
}

/** Deletes one, if it is still there. */
async function drop(on: Following<State>, source: Derived, key: string): Promise<void> {
  if (!(await on.tx.get(source, key))) return;
  on.tx.delete(source, key);
  const ring = on.state.rings[source];
  on.state = { ...on.state, rings: { ...on.state.rings, [source]: { ...ring, count: ring.count - 1 } } };
}

/** Forgets what was told of a change whose content is erased, for it names the change by that. */
async function forget(on: Following<State>, { id, change_id }: Entry, step: string): Promise<string | void> {
  const before = (await on.entriesAbout(change_id)).filter((entry) => entry < id);
  for (let index = Number(step); index < before.length; index++) {
    if (!on.room(1)) return String(index);
    const key = ringKey(seqAt(before[index]!));
    for (const source of ["record_memories", "proposal_memories"] as const) await drop(on, source, key);
  }
}

/** A later feed of the same day replaces what an earlier one left. */
async function rememberKpis(on: Following<State>, { timestamp: at, facts }: Entry): Promise<void> {
  const day = at.slice(0, 10);
  const { fed } = on.state;
  const before = fed?.day === day ? fed : undefined;
  const values = { ...before?.values, ...facts.values };
  const note = facts.note?.trim() ? facts.note : (before?.note ?? "");
  if (before) await drop(on, "record_memories", ringKey(before.seq));
  const effect = facts.E == null ? "" : `; E ${Number(facts.E.toFixed(3))}`;
  const author = facts.actor ?? null;
  const noted = note === "" ? "" : `: ${quote(note, LONGEST_NOTE)}`;
  const source = author === null && note === "" ? "" : `; fed by ${joinParts(nameActor(author))}${noted}`;
  await keep(on, "record_memories", {
    kind: "kpi",
    text: `KPIs of ${day}: ${joinParts(describeValues(values))}${effect}${source}`,
    author,
    at,
    ref: day,
  });
  const { seq } = on.state.rings.record_memories;
  on.state = { ...on.state, fed: { day, values, note: note.slice(0, LONGEST_NOTE), seq } };
}
