import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";

const COLLECTIONS = [
  "audit",
  "changes",
  "claims",
  "co_evolution",
  "counts",
  "growth",
  "insights_shared",
  "kpi",
  "live",
  "meta",
  "outcomes",
  "outcomes_open",
  "owners",
  "peers",
  "tree",
];

/** A copy of what a store holds now, as a backup is. */
export async function copied(store: Store): Promise<Store> {
  const copy = memoryStore();
  for (const collection of COLLECTIONS)
    for (const { id, value } of await store.list(collection, { limit: 100_000 }))
      await copy.transact((tx) => tx.put(collection, id, value));
  return copy;
}
