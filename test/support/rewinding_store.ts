/** A store that goes back to an earlier state behind the processes on it: as a failover that lost commits, or a rewind. */
import { memoryStore } from "../../lib/store/memory.ts";
import type { Store } from "../../lib/store/store.ts";

/** A store over one that can be exchanged, and how to exchange it. */
export interface RewindingStore {
  store: Store;
  /** Copies what is stored now. */
  copy(): Promise<Store>;
  /** Goes back to a copy; it may be gone back to again. */
  goBack(to: Store): Promise<void>;
}

/** An empty store in memory. */
export function rewindingStore(): RewindingStore {
  let current = memoryStore();
  const store: Store = {
    get: (collection, id) => current.get(collection, id),
    getMany: (collection, ids) => current.getMany(collection, ids),
    list: (collection, options) => current.list(collection, options),
    texts: (collection, which) => current.texts(collection, which),
    transact: (decide) => current.transact(decide),
    others: async () => "",
    get bulk() {
      return current.bulk;
    },
    close: async () => undefined,
  };
  return {
    store,
    copy: () => copied(current),
    async goBack(to) {
      current = await copied(to);
    },
  };
}

async function copied(from: Store): Promise<Store> {
  const to = memoryStore();
  for await (const page of from.bulk!.dump())
    await to.bulk!.commit(
      page.filter(({ id }) => id !== ""),
      { from: undefined, to: undefined },
    );
  return to;
}
