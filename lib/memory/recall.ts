/**
 * Finds memories. Each process has its own index, built at the first search and updated before each search with memories that were
 * stored since, also by other instances.
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
import { verifiedChangeFinder, storedChangeFinder, addProposalTexts } from "./proposal_texts.ts";
import type { Search } from "./search_index.ts";

/** A found memory. */
export const foundMemorySchema = z
  .object({
    id: z.string().meta({ description: "Id of the memory.", examples: ["decision:7"] }),
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
const OLDEST_KEY = { limit: 1, keysOnly: true } as const;

/** Opening words of a quoted statement. */
const QUOTE_PREFIXES: Partial<Record<MemoryKind, string>> = { feedback: "feedback of", insight: "insight of" };

/** Describes a memory in a line. Statements are quoted completely, so that they cannot look like records. */
function phrase({ kind, text, author }: Memory): string {
  if (memoryBasis(kind) === "record") return text;
  return `${QUOTE_PREFIXES[kind] ?? "said by"} ${author ? label(author) : "somebody"}, unverified: ${quote(text)}`;
}

/** A source of memories, and the id of its newest memory. */
interface Source {
  reads: Reads;
  newest: string;
}
type Sources = Record<MemorySource, Source>;

interface ReaderIndex {
  index: MemoryIndex;
  /** Ids in the index and the newest id read, by source. */
  read: Record<MemorySource, { ids: string[]; last: string }>;
}

/** Indexes by the name of the reader; `""` is the index of all memories. */
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
    const none = () => ({ ids: [], last: "" });
    const read = {
      record_memories: none(),
      proposal_memories: none(),
      outcome_memories: none(),
      memories: none(),
      chat_memories: none(),
    };
    states.set(name, (state = { index: createMemoryIndex(), read }));
  }
  const { index } = state;
  // One update at a time; each reads all memories that are durable when it begins.
  const sources = await deps.mutex("recall", () => catchUp(deps, state));
  for (;;) {
    const hits = index.search({ ...search, now: deps.clock.now() });
    const texts = await readHits(deps, sources, hits);
    const found = hits.map(({ id, score }) => {
      const memory = texts.get(id);
      return { id, memory: memory && toFoundMemory(id.slice(id.indexOf("/") + 1), memory, score) };
    });
    const missing = found.filter(({ memory }) => memory === undefined);
    for (const { id } of missing) index.drop(id);
    // Search again without memories that no longer exist, since their successors may match.
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
      const there = stored.flatMap((one) => one ?? []);
      const memories = await addProposalTexts(
        there.map(({ value }) => value),
        verifiedChangeFinder(deps),
      );
      return memories.flatMap((memory, index) => (memory ? [[`${source}/${there[index]!.id}`, memory] as const] : []));
    }),
  );
  return new Map(found.flat());
}

const toFoundMemory = (key: string, memory: Memory, score: number): FoundMemory => ({
  id: `mem_${key}`,
  kind: memory.kind,
  basis: memoryBasis(memory.kind),
  author: memory.author,
  text: phrase(memory),
  at: memory.at,
  score: Number(score.toFixed(4)),
  ref: memory.ref,
});

/**
 * Updates the index up to the newest committed memory. It reads no further: a page of a shared store may contain one memory of an
 * unfinished transaction but not an earlier one, which would then never be read.
 */
async function catchUp(deps: RecallDeps, { index, read }: ReaderIndex): Promise<Sources> {
  const sources = await readSources(deps);
  // Concurrently, so that a slow source does not delay the others.
  const oldest = await Promise.all(MEMORY_SOURCES.map((name) => sources[name].reads.list(name, OLDEST_KEY)));
  for (const [at, name] of MEMORY_SOURCES.entries()) {
    const { reads, newest } = sources[name];
    const known = read[name];
    while (known.last < newest) {
      const page = await reads.list(name, { after: known.last, limit: PAGE_SIZE });
      const read = page.filter(({ id }) => id <= newest);
      const memories = await addProposalTexts(
        read.map(({ value }) => value),
        storedChangeFinder(deps.store),
      );
      const visible = await createVisibilityFilter(deps, name, memories);
      for (const [place, { id }] of read.entries()) {
        if (memories[place] && visible(memories[place])) index.add(`${name}/${id}`, memories[place]);
        known.ids.push(id);
        known.last = id;
      }
      if (page.length < PAGE_SIZE || page.at(-1)!.id >= newest) known.last = newest;
      await yieldToEventLoop();
    }
    const first = oldest[at]![0];
    while (first && known.ids.length > 0 && known.ids[0]! < first.id) index.drop(`${name}/${known.ids.shift()}`);
  }
  return sources;
}

/** Creates the filter for a reader: memories of its own changes, but no outcomes, whose text counts changes of others. */
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
  const [ofEntries, ofOutcomes, own] = await Promise.all([
    readProjection(deps, memories),
    readProjection(deps, outcomes),
    deps.store.get("meta", "memories"),
  ]);
  const { rings } = ofEntries.state;
  const statements = { reads: deps.store, newest: sequenceKey(own?.value.seq ?? 0) };
  return {
    record_memories: { reads: ofEntries, newest: sequenceKey(rings.record_memories.seq) },
    proposal_memories: { reads: ofEntries, newest: sequenceKey(rings.proposal_memories.seq) },
    outcome_memories: { reads: ofOutcomes, newest: sequenceKey(ofOutcomes.state.memories.seq) },
    memories: statements,
    chat_memories: statements,
  };
}
