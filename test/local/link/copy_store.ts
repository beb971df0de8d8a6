import { memoryStore } from "../../../lib/store/memory.ts";
import { COLLECTIONS } from "../../../lib/store/schema.ts";
import type { AnyStore } from "../../contract/any_store.ts";

/** Copies the current records of all collections to a new store, like a backup. */
export async function copyStore(store: AnyStore): Promise<AnyStore> {
  const copy: AnyStore = memoryStore();
  for (const collection of Object.keys(COLLECTIONS))
    for (const { id, value } of await store.list(collection, { limit: 100_000 }))
      await copy.transact((tx) => tx.put(collection, id, value));
  return copy;
}
