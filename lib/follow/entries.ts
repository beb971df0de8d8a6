/** Reads entries for followers: those that stand at the same place share what one of them has read. */
import { entryKey } from "../audit/chain.ts";
import type { Store } from "../store/store.ts";
import { type Entry, factsIn } from "./facts.ts";

/** Entries after an id, in their order: some at least and `limit` at most. */
export type EntryReader = (after: number, limit: number) => Promise<Entry[]>;

const READ = 64;
const KEPT = 4;

/** A reader over a store; an entry that is missing is an error, since nothing can be followed beyond it. */
export function entryReader(store: Store): EntryReader {
  const recent: { after: number; entries: Promise<Entry[]>; length: number }[] = [];
  return async (after, limit) => {
    if (limit === 0) return [];
    let run = recent.find(
      (known) => known.after === after || (known.after < after && after < known.after + known.length),
    );
    if (!run) {
      run = { after, entries: read(store, after, Math.min(limit, READ)), length: 0 };
      recent.unshift(run);
      recent.length = Math.min(recent.length, KEPT);
    }
    const entries = await run.entries;
    run.length = entries.length;
    return entries.slice(after - run.after, after - run.after + limit);
  };
}

async function read(store: Store, after: number, limit: number): Promise<Entry[]> {
  const page = await store.list("audit", { after: entryKey(after), limit });
  const gap = page.findIndex(({ value }, index) => value.id !== after + 1 + index);
  if (gap !== -1 || page.length < limit)
    throw new Error(`audit entry ${after + 1 + (gap === -1 ? page.length : gap)} is missing from the store`);
  return page.map(({ value }) => factsIn(value));
}
