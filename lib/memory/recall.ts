/**
 * Finds memories. Each process keeps an index of its own, built when it is first asked and caught up before each search
 * by what was remembered since, so that what another instance remembers is found too.
 */
import * as z from "zod";
import { memories, MEMORY_KINDS, MEMORY_SOURCES, type MemoryKind, type MemorySource } from "../follow/memories.ts";
import { outcomes } from "../follow/outcomes.ts";
import { reading } from "../follow/reading.ts";
import { ringKey } from "../follow/ring.ts";
import { turn } from "../kit/turn.ts";
import type { Reads, Store } from "../store/store.ts";
import type { FollowDeps } from "../follow/follower.ts";
import { type Search, searchIndex, type SearchIndex } from "./search_index.ts";

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
const IMPORTANCE: Record<MemoryKind, number> = {
  decision: 1,
  outcome: 1,
  rollback: 1,
  feedback: 0.8,
  insight: 0.7,
  kpi: 0.4,
  chat: 0.2,
};

const PAGE = 500;

/** The memories of one source, and the newest of them. */
interface Source {
  reads: Reads;
  newest: string;
}
type Sources = Record<MemorySource, Source>;

interface Kept {
  index: SearchIndex;
  /** Of each source, the ids in the index and the newest id that was read. */
  read: Record<MemorySource, { ids: string[]; last: string }>;
}

const kept = new WeakMap<Store, Kept>();

/** The memories that fit best, best first. */
export async function recall(deps: FollowDeps, search: Omit<Search, "now">): Promise<Recalled[]> {
  let state = kept.get(deps.store);
  if (!state) {
    const none = () => ({ ids: [], last: "" });
    const read = { record_memories: none(), outcome_memories: none(), memories: none() };
    kept.set(deps.store, (state = { index: searchIndex(), read }));
  }
  const { index } = state;
  // One after the other: each sees all that is durable when it begins.
  const sources = await deps.mutex("recall", () => catchUp(deps, state));
  const hits = index.search({ ...search, now: deps.clock.now() });
  const found = await Promise.all(
    hits.map(async ({ id, score }): Promise<Recalled | undefined> => {
      const [source, key] = id.split("/") as [MemorySource, string];
      const memory = (await sources[source].reads.get(source, key))?.value;
      if (!memory) return void index.drop(id);
      const { kind, text, at, ref } = memory;
      return { id: `mem_${key}`, kind, text, at, score: Number(score.toFixed(4)), ref };
    }),
  );
  return found.filter((memory) => memory !== undefined);
}

/**
 * Reads on to what is the newest memory now. Not beyond: a page of a shared store may show one memory of a transaction that
 * is just being made and not yet another before it, which would then never be read.
 */
async function catchUp(deps: FollowDeps, { index, read }: Kept): Promise<Sources> {
  const sources = await sourcesNow(deps);
  for (const name of MEMORY_SOURCES) {
    const { reads, newest } = sources[name];
    const known = read[name];
    while (known.last < newest) {
      const page = await reads.list(name, { after: known.last, limit: PAGE });
      for (const { id, value } of page.filter(({ id }) => id <= newest)) {
        const { kind, text, at } = value;
        index.add({ id: `${name}/${id}`, text, at: Date.parse(at), importance: IMPORTANCE[kind] });
        known.ids.push(id);
        known.last = id;
      }
      if (page.length < PAGE || page.at(-1)!.id >= newest) known.last = newest;
      await turn();
    }
    const [oldest] = await reads.list(name, { limit: 1, keysOnly: true });
    while (oldest && known.ids.length > 0 && known.ids[0]! < oldest.id) index.drop(`${name}/${known.ids.shift()}`);
  }
  return sources;
}

async function sourcesNow(deps: FollowDeps): Promise<Sources> {
  const [ofEntries, ofOutcomes, own] = await Promise.all([
    reading(deps, memories),
    reading(deps, outcomes),
    deps.store.get("meta", "memories"),
  ]);
  return {
    record_memories: { reads: ofEntries, newest: ringKey(ofEntries.state.memories.seq) },
    outcome_memories: { reads: ofOutcomes, newest: ringKey(ofOutcomes.state.memories.seq) },
    memories: { reads: deps.store, newest: ringKey(own?.value.seq ?? 0) },
  };
}
