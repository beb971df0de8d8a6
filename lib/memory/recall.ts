/**
 * Finds memories. Each process has its own index. It is built at the first search, and updated before each search with new
 * memories, including those that other processes stored.
 */
import * as z from "zod";
import { memories } from "../projections/memory.ts";
import {
  memoryBasis,
  type Memory,
  MEMORY_KINDS,
  MEMORY_SOURCES,
  type MemoryKind,
  type MemorySource,
} from "../projections/memory.ts";
import { outcomes } from "../projections/outcomes.ts";
import { readProjection } from "../projections/snapshot.ts";
import { sequenceKey } from "../projections/buffer.ts";
import { label, quote } from "../kit/quote.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { listVisibleIds } from "../changes/read_scope.ts";
import type { Reads, Store } from "../store/store.ts";
import type { ProjectionDeps } from "../projections/projection.ts";
import { createMemoryIndex, type MemoryIndex } from "./memory_index.ts";
import { createVerifiedChangeFinder, createStoredChangeFinder, addProposalTexts } from "./proposal_texts.ts";
import type { Search } from "./search_index.ts";

/** A found memory. */
export const foundMemorySchema = z
  .object({
    id: z.string().meta({ description: "Id of the memory.", examples: ["mem_0000000007000000"] }),
    kind: z.enum(MEMORY_KINDS).describe("Kind of memory."),
    basis: z.enum(["record", "said"]).describe("record: from the audit log; said: unverified words of a person."),
    author: z
      .string()
      .nullable()
      .meta({
        description: "Author of the decision, proposal or message; null if unnamed.",
        examples: ["ana@acme.example"],
      }),
    text: z.string().meta({
      description: "The memory in a line; words of people are quoted.",
      examples: ["“Raise seats” (limits.seats for tenant t-100): approved by ana, 1 of 1 consent"],
    }),
    at: z.string().meta({ description: "Time of the event.", format: "date-time" }),
    score: z.number().describe("Rank within one answer."),
    ref: z.string().nullable().describe("Id of its record; null if none."),
  })
  .describe("A memory that was found.");
export type FoundMemory = z.infer<typeof foundMemorySchema>;

const PAGE_SIZE = 500;
const FIRST_KEY_ONLY = { limit: 1, keysOnly: true } as const;

/** Words before the author of a quoted statement. */
const QUOTE_PREFIXES: Partial<Record<MemoryKind, string>> = { feedback: "feedback of", insight: "insight of" };

/** Describes a memory in a line. Statements are quoted completely, so that they cannot look like records. */
function describeMemory({ kind, text, author }: Memory): string {
  if (memoryBasis(kind) === "record") return text;
  return `${QUOTE_PREFIXES[kind] ?? "said by"} ${author ? label(author) : "somebody"}, unverified: ${quote(text)}`;
}

/** A source of memories, and the id of its newest memory. */
interface Source {
  reads: Reads;
  newest: string;
}
type Sources = Record<MemorySource, Source>;

/** The index of a reader. It names a memory `<source>/<id>`, since an id is unique only within its source. */
interface ReaderIndex {
  index: MemoryIndex;
  /** Indexed ids and the newest indexed id, by source. */
  read: Record<MemorySource, { ids: string[]; last: string }>;
}

/** Indexes by store and name of the reader; `""` names the index of all memories. */
const indexes = new WeakMap<Store, Map<string, ReaderIndex>>();

type RecallDeps = ProjectionDeps & Pick<ChangesDeps, "reader">;

/**
 * Finds the best matching memories, best first. Each reader has an index of its own, so that scores reveal nothing about the
 * changes of others.
 */
export async function recall(deps: RecallDeps, search: Omit<Search, "now">): Promise<FoundMemory[]> {
  const name = deps.reader?.name ?? "";
  const states = indexes.get(deps.store) ?? new Map<string, ReaderIndex>();
  indexes.set(deps.store, states);
  let state = states.get(name);
  if (!state) {
    const nothingRead = () => ({ ids: [], last: "" });
    const read = {
      record_memories: nothingRead(),
      proposal_memories: nothingRead(),
      outcome_memories: nothingRead(),
      memories: nothingRead(),
      chat_memories: nothingRead(),
    };
    states.set(name, (state = { index: createMemoryIndex(), read }));
  }
  const { index } = state;
  // Updates run one at a time; each reads all memories that are durable when it begins.
  const sources = await deps.mutex("recall", () => updateIndex(deps, state));
  for (;;) {
    const hits = index.search({ ...search, now: deps.clock.now() });
    const texts = await readHits(deps, sources, hits);
    const found = hits.map(({ id, score }) => {
      const memory = texts.get(id);
      return { id, memory: memory && toFoundMemory(id.slice(id.indexOf("/") + 1), memory, score) };
    });
    const missing = found.filter(({ memory }) => memory === undefined);
    for (const { id } of missing) index.drop(id);
    // If a memory no longer exists, the search is repeated without it, since others may take its rank.
    if (missing.length === 0) return found.map(({ memory }) => memory!);
  }
}

/** Reads found memories, by their ids in the index; memories that no longer exist are left out. */
async function readHits(
  deps: ProjectionDeps,
  sources: Sources,
  hits: readonly { id: string }[],
): Promise<Map<string, Memory>> {
  const found = await Promise.all(
    MEMORY_SOURCES.map(async (source) => {
      const keys = hits.flatMap(({ id }) => (id.startsWith(`${source}/`) ? id.slice(source.length + 1) : []));
      const stored = keys.length === 0 ? [] : await sources[source].reads.getMany(source, keys);
      const existing = stored.flatMap((record) => record ?? []);
      const memories = await addProposalTexts(
        existing.map(({ value }) => value),
        createVerifiedChangeFinder(deps),
      );
      return memories.flatMap((memory, index) =>
        memory ? [[`${source}/${existing[index]!.id}`, memory] as const] : [],
      );
    }),
  );
  return new Map(found.flat());
}

const toFoundMemory = (key: string, memory: Memory, score: number): FoundMemory => ({
  id: `mem_${key}`,
  kind: memory.kind,
  basis: memoryBasis(memory.kind),
  author: memory.author,
  text: describeMemory(memory),
  at: memory.at,
  score: Number(score.toFixed(4)),
  ref: memory.ref,
});

/**
 * Updates the index up to the newest committed memory, and not beyond it: a page of a shared store may contain a memory of an
 * unfinished transaction but lack an earlier one, which would then never be read.
 */
async function updateIndex(deps: RecallDeps, { index, read }: ReaderIndex): Promise<Sources> {
  const sources = await readSources(deps);
  // Concurrently, so that a slow source does not delay the others.
  const oldest = await Promise.all(MEMORY_SOURCES.map((name) => sources[name].reads.list(name, FIRST_KEY_ONLY)));
  for (const [sourceIndex, name] of MEMORY_SOURCES.entries()) {
    const { reads, newest } = sources[name];
    const indexed = read[name];
    while (indexed.last < newest) {
      const page = await reads.list(name, { after: indexed.last, limit: PAGE_SIZE });
      const committed = page.filter(({ id }) => id <= newest);
      const memories = await addProposalTexts(
        committed.map(({ value }) => value),
        createStoredChangeFinder(deps.store),
      );
      const isVisible = await createVisibilityFilter(deps, name, memories);
      for (const [memoryIndex, { id }] of committed.entries()) {
        const memory = memories[memoryIndex];
        if (memory && isVisible(memory)) index.add(`${name}/${id}`, memory);
        indexed.ids.push(id);
        indexed.last = id;
      }
      // The newest memory itself may have been removed, so the end of the list counts as read up to it.
      if (page.length < PAGE_SIZE || page.at(-1)!.id >= newest) indexed.last = newest;
      await yieldToEventLoop();
    }
    // Memories before the oldest stored one were removed.
    const first = oldest[sourceIndex]![0];
    while (first && indexed.ids.length > 0 && indexed.ids[0]! < first.id) index.drop(`${name}/${indexed.ids.shift()}`);
  }
  return sources;
}

/** Creates the filter for a reader: only memories of its own changes, and no outcomes, since their texts count changes of others. */
async function createVisibilityFilter(
  deps: RecallDeps,
  source: MemorySource,
  memories: readonly (Memory | undefined)[],
): Promise<(memory: Memory) => boolean> {
  if (!deps.reader) return () => true;
  if (source === "outcome_memories") return () => false;
  const refs = memories.flatMap((memory) => memory?.ref ?? []);
  const own = new Set(await listVisibleIds(deps, [...new Set(refs)]));
  return ({ ref, kind }) => memoryBasis(kind) === "record" && ref !== null && own.has(ref);
}

async function readSources(deps: ProjectionDeps): Promise<Sources> {
  const [entryMemories, outcomeMemories, statementBuffer] = await Promise.all([
    readProjection(deps, memories),
    readProjection(deps, outcomes),
    deps.store.get("meta", "memories"),
  ]);
  const { rings } = entryMemories.state;
  // The collections `memories` and `chat_memories` share one sequence.
  const statements = { reads: deps.store, newest: sequenceKey(statementBuffer?.value.seq ?? 0) };
  return {
    record_memories: { reads: entryMemories, newest: sequenceKey(rings.record_memories.seq) },
    proposal_memories: { reads: entryMemories, newest: sequenceKey(rings.proposal_memories.seq) },
    outcome_memories: { reads: outcomeMemories, newest: sequenceKey(outcomeMemories.state.memories.seq) },
    memories: statements,
    chat_memories: statements,
  };
}
