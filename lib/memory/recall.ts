/**
 * Finds memories. Each process keeps an index of its own, built when it is first asked and caught up before each search
 * by what was remembered since, so that what another instance remembers is found too.
 */
import type { GovernanceDeps } from "../governance/deps.ts";
import type { Store } from "../store/store.ts";
import { IMPORTANCE, memoryId, newestMemory, type Recalled } from "./memories.ts";
import { type Search, searchIndex, type SearchIndex } from "./search_index.ts";

const PAGE = 500;

interface Kept {
  index: SearchIndex;
  /** Id of the newest memory that was read. */
  last: string;
  /** The reading that was asked for last; the next begins when it ends, so that it sees all that is durable by then. */
  reading: Promise<void>;
}

const kept = new WeakMap<Store, Kept>();

/** The memories that fit best, best first. */
export async function recall(
  { store, clock }: Pick<GovernanceDeps, "store" | "clock">,
  search: Omit<Search, "now">,
): Promise<Recalled[]> {
  const { index } = await caughtUp(store);
  const hits = index.search({ ...search, now: clock.now() });
  const found = await Promise.all(
    hits.map(async ({ id, score }): Promise<Recalled | undefined> => {
      const memory = (await store.get("memories", id))?.value;
      if (!memory) return void index.drop(id);
      const { kind, text, at, ref } = memory;
      return { id: memoryId(id), kind, text, at, score: Number(score.toFixed(4)), ref };
    }),
  );
  return found.filter((memory) => memory !== undefined);
}

async function caughtUp(store: Store): Promise<Kept> {
  let state = kept.get(store);
  if (!state) kept.set(store, (state = { index: searchIndex(), last: "", reading: Promise.resolve() }));
  const reading = () => readOn(store, state);
  state.reading = state.reading.then(reading, reading);
  await state.reading;
  return state;
}

/**
 * Reads on to what is the newest memory now. Not beyond: a page of a shared store may show one memory of a transaction that
 * is just being made and not yet another before it, which would then never be read.
 */
async function readOn(store: Store, state: Kept): Promise<void> {
  const newest = await newestMemory(store);
  while (state.last < newest) {
    const page = await store.list("memories", { ...(state.last ? { after: state.last } : {}), limit: PAGE });
    for (const { id, value } of page.filter(({ id }) => id <= newest)) {
      const { kind, text, at } = value;
      state.index.add({ id, text, at: Date.parse(at), importance: IMPORTANCE[kind] });
      state.last = id;
    }
    if (page.length < PAGE || page.at(-1)!.id >= newest) state.last = newest;
    await new Promise((resolve) => setTimeout(resolve));
  }
  const [oldest] = await store.list("memories", { limit: 1 });
  if (oldest) state.index.dropBefore(oldest.id);
}
