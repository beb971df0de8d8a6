/** Memories of the service: sentences about the log, and words of users. Each source has a limit of its own. */
import type { EventType } from "../audit/entry.ts";
import type { Change } from "../changes/rules/change.ts";
import { formatDelta } from "../changes/rules/kpi_words.ts";
import { quote, shorten } from "../kit/quote.ts";
import type { Tx } from "../store/store.ts";
import { describe, describeValues, toSentence } from "../wording/describe.ts";
import { nameActor } from "../wording/names.ts";
import { joinParts, type Part } from "../wording/part.ts";
import { appendRecord, type BufferState, firstSequence, sequenceKey } from "./buffer.ts";
import { type Entry, findActor } from "./entries.ts";
import type { ProjectedChange, Projection, ProjectionContext } from "./projection.ts";

declare module "../store/store.ts" {
  interface Collections {
    record_memories: Memory;
    proposal_memories: Memory | ProposalMemory;
    outcome_memories: Memory;
    memories: Memory;
    chat_memories: Memory;
  }
  interface Meta {
    memories: UserMemoryState;
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

/** Kinds that a user said and nobody verified; all others come from the audit log. */
const USER_KINDS: ReadonlySet<MemoryKind> = new Set(["feedback", "insight", "chat"]);

/** Returns `record` for a memory from the audit log, `said` for the words of a user. */
export const memoryBasis = (kind: MemoryKind): "record" | "said" => (USER_KINDS.has(kind) ? "said" : "record");

/**
 * Collections of memories: of entries, of proposals, of outcomes, of feedback and insights, and of conversation. Each has a
 * limit of its own, so that one which anybody can fill does not displace the others.
 */
export const MEMORY_SOURCES = [
  "record_memories",
  "proposal_memories",
  "outcome_memories",
  "memories",
  "chat_memories",
] as const;
export type MemorySource = (typeof MEMORY_SOURCES)[number];

/** Memories stored for each source; the oldest are removed first. */
export const MAX_MEMORIES = 20_000;

/** Length of a memory; a longer one is cut. */
export const MAX_MEMORY_LENGTH = 2000;

/** A memory; `ref` is the id of the record that it is about. */
export interface Memory {
  kind: MemoryKind;
  /** From the log: a sentence that quotes people. From a user: the words as they were said. */
  text: string;
  /** Name of the actor who decided, proposed or said it; null if none is recorded. */
  author: string | null;
  at: string;
  ref: string | null;
  /** For chat: the only conversation in which it is found. */
  conversation?: string;
}

/** The memory of a proposal: the id of its change, from which each read words it. */
export type ProposalMemory = string;

/** Adds a memory and resolves with the new state of its buffer. */
export async function addMemory(
  tx: Tx,
  source: MemorySource,
  buffer: BufferState | undefined,
  memory: Memory | ProposalMemory,
  minSequence?: number,
): Promise<BufferState> {
  const record = typeof memory === "string" ? memory : { ...memory, text: shorten(memory.text, MAX_MEMORY_LENGTH) };
  return appendRecord(tx, source, buffer, () => record, {
    maxCount: MAX_MEMORIES,
    ...(minSequence && { minSequence }),
  });
}

/** `meta/memories`: buffers of the words of users. They share one sequence, so that ids differ, and have separate counts. */
interface UserMemoryState extends BufferState {
  /** Number of memories of conversation. */
  chat: number;
}

/** Remembers the words of a user, in the transaction that records them. */
export async function remember(tx: Tx, memory: Memory): Promise<void> {
  const { seq, count, chat } = (await tx.get("meta", "memories"))?.value ?? { seq: 0, count: 0, chat: 0 };
  if (memory.kind === "chat") {
    const after = await addMemory(tx, "chat_memories", { seq, count: chat }, memory);
    tx.put("meta", "memories", { seq: after.seq, count, chat: after.count });
  } else {
    const after = await addMemory(tx, "memories", { seq, count }, memory);
    tx.put("meta", "memories", { ...after, chat });
  }
}

/** Deletes a memory of a user's words. */
export async function forgetMemory(tx: Tx, source: "memories" | "chat_memories", id: string): Promise<void> {
  const stored = (await tx.get("meta", "memories"))?.value;
  const member = source === "memories" ? "count" : "chat";
  tx.delete(source, id);
  if (stored) tx.put("meta", "memories", { ...stored, [member]: stored[member] - 1 });
}

/** The words of a memory. */
export type MemoryText = Pick<Memory, "kind" | "text"> & { author: string | null };

/** Kinds of memory by event. Proposals and feeds are remembered in ways of their own. */
const EVENT_KINDS: Readonly<Partial<Record<EventType, MemoryKind>>> = {
  consent_decision: "decision",
  emergency_reviewed: "decision",
  note_added: "decision",
  service_frozen: "decision",
  service_unfrozen: "decision",
  change_applied: "outcome",
  change_apply_failed: "outcome",
  change_drifted: "outcome",
  change_rolled_back: "rollback",
  change_rollback_failed: "rollback",
  proposal_refused: "proposal",
};

/** Describes an entry that is remembered; undefined for any other. */
export function describeMemory(entry: Entry, change?: ProjectedChange): MemoryText | undefined {
  const kind = EVENT_KINDS[entry.event_type];
  if (kind === undefined) return undefined;
  return { kind, author: findActor(entry), text: joinParts(toSentence(describe(entry, change))) };
}

/** Describes a proposal, with its promised gain and its rationale. */
export function describeProposal(change: Change): MemoryText {
  const { kpi, expected_delta_k: gain, rationale, proposer } = change;
  const promise: Part[] =
    kpi === null ? [] : ["; promised gain: ", { text: kpi }, gain === null ? " not stated" : ` ${formatDelta(gain)}`];
  const reason: Part[] = rationale.trim() === "" ? [] : ["; rationale: ", { text: rationale, quoted: true }];
  const sentence = toSentence(describe({ event_type: "change_proposed", detail: change }, change));
  return { kind: "proposal", author: proposer, text: joinParts([...sentence, ...promise, ...reason]) };
}

/** Sources of memories of entries: proposals, of which anybody can make many, and all others. */
type EntrySource = "record_memories" | "proposal_memories";

interface State {
  rings: Record<EntrySource, BufferState>;
  /** The day of the newest feed with the values and note of that day so far, and the number of their memory. */
  fed: { day: string; values: Record<string, number>; note: string; seq: number } | null;
}

const MAX_NOTE_LENGTH = 500;
const EMPTY_BUFFER = { seq: 0, count: 0 };

export const memories: Projection<State> = {
  name: "memories",
  version: 5,
  collections: ["record_memories", "proposal_memories"],
  start: { rings: { record_memories: EMPTY_BUFFER, proposal_memories: EMPTY_BUFFER }, fed: null },
  async apply(context, entry, step) {
    if (entry.event_type === "kpi_refreshed") return rememberKpis(context, entry);
    if (entry.event_type === "content_erased") return forgetChange(context, entry, step);
    const { change_id, timestamp: at } = entry;
    if (entry.event_type === "change_proposed") return addEntryMemory(context, "proposal_memories", change_id);
    const described = describeMemory(entry, change_id === "" ? undefined : await context.readChange(change_id));
    const source = described?.kind === "proposal" ? "proposal_memories" : "record_memories";
    if (described) await addEntryMemory(context, source, { ...described, at, ref: change_id || null });
  },
};

async function addEntryMemory(
  context: ProjectionContext<State>,
  source: EntrySource,
  memory: Memory | ProposalMemory,
): Promise<void> {
  const buffer = await addMemory(
    context.tx,
    source,
    context.state.rings[source],
    memory,
    firstSequence(context.position),
  );
  context.state = { ...context.state, rings: { ...context.state.rings, [source]: buffer } };
}

/** Removes a memory, if it is still stored. */
async function removeMemory(context: ProjectionContext<State>, source: EntrySource, key: string): Promise<void> {
  if (!(await context.tx.get(source, key))) return;
  context.tx.delete(source, key);
  const buffer = context.state.rings[source];
  context.state = {
    ...context.state,
    rings: { ...context.state.rings, [source]: { ...buffer, count: buffer.count - 1 } },
  };
}

/** Removes the memories of a change whose content is erased, because they name the change by its content. */
async function forgetChange(
  context: ProjectionContext<State>,
  { id, change_id }: Entry,
  step: string,
): Promise<string | void> {
  const before = (await context.listEntries(change_id)).filter((entry) => entry < id);
  for (let index = Number(step); index < before.length; index++) {
    if (!context.hasRoom(1)) return String(index);
    // An entry has one memory at most, under the first number of its position.
    const key = sequenceKey(firstSequence(before[index]!));
    for (const source of ["record_memories", "proposal_memories"] as const) await removeMemory(context, source, key);
  }
}

/** Remembers a feed; a later one of the same day replaces it. */
async function rememberKpis(context: ProjectionContext<State>, { timestamp: at, facts }: Entry): Promise<void> {
  const day = at.slice(0, 10);
  const { fed } = context.state;
  const earlier = fed?.day === day ? fed : undefined;
  const values = { ...earlier?.values, ...facts.values };
  const note = facts.note?.trim() ? facts.note : (earlier?.note ?? "");
  if (earlier) await removeMemory(context, "record_memories", sequenceKey(earlier.seq));
  const effect = facts.E == null ? "" : `; E ${Number(facts.E.toFixed(3))}`;
  const author = facts.actor ?? null;
  const noteText = note === "" ? "" : `: ${quote(note, MAX_NOTE_LENGTH)}`;
  const source = author === null && note === "" ? "" : `; fed by ${joinParts(nameActor(author))}${noteText}`;
  await addEntryMemory(context, "record_memories", {
    kind: "kpi",
    text: `KPIs of ${day}: ${joinParts(describeValues(values))}${effect}${source}`,
    author,
    at,
    ref: day,
  });
  const { seq } = context.state.rings.record_memories;
  context.state = { ...context.state, fed: { day, values, note: note.slice(0, MAX_NOTE_LENGTH), seq } };
}
