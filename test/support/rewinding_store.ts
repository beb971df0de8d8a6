/** A store that returns to an earlier state while processes use it, as after a failover that lost commits. */
import { memoryStore } from "../../lib/store/memory.ts";
import type { Store } from "../../lib/store/store.ts";

/** A store with functions that copy and restore its state. */
export interface RewindingStore {
  store: Store;
  /** Copies the current state. */
  copy(): Promise<Store>;
  /** Restores the state of a copy, which can be restored again later. */
  goBack(to: Store): Promise<void>;
}

/** Makes an empty store in memory. */
export function rewindingStore(): RewindingStore {
  let current = memoryStore();
  const store: Store = {
    get: (collection, id) => current.get(collection, id),
    getMany: (collection, ids) => current.getMany(collection, ids),
    list: (collection, options) => current.list(collection, options),
    texts: (collection, which) => current.texts(collection, which),
    transact: (decide) => current.transact(decide),
    // A constant: no other process can write, and going back is no commit.
    others: async () => "",
    get bulk() {
      return current.bulk;
    },
    close: async () => undefined,
  };
  return {
    store,
    copy: () => copyStore(current),
    async goBack(to) {
      current = await copyStore(to);
    },
  };
}

async function copyStore(from: Store): Promise<Store> {
  const to = memoryStore();
  for await (const page of from.bulk!.dump())
    await to.bulk!.commit(
      // Versions without an id are floors of deleted records, not records.
      page.filter(({ id }) => id !== ""),
      // Neither store is being moved.
      { from: undefined, to: undefined },
    );
  return to;
}
