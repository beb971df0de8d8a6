import { memoryStore } from "../../../lib/store/memory.ts";
import type { AnyStore } from "../../contract/any_store.ts";

const COLLECTIONS = [
  "audit",
  "changes",
  "co_evolution",
  "counts",
  "insights_shared",
  "kpi",
  "leases",
  "live_by_target",
  "manifests",
  "merkle",
  "meta",
  "owners",
  "peers",
];

/** Copies the current records of these collections to a new store, like a backup. */
export async function copyStore(store: AnyStore): Promise<AnyStore> {
  const copy: AnyStore = memoryStore();
  for (const collection of COLLECTIONS)
    for (const { id, value } of await store.list(collection, { limit: 100_000 }))
      await copy.transact((tx) => tx.put(collection, id, value));
  return copy;
}
