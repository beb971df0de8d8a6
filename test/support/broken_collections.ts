import type { Collection, Store } from "../../lib/store/store.ts";

/** Wraps a store so that reads and writes of some collections fail while `isBroken` returns true. */
export function brokenCollections(store: Store, collections: readonly Collection[], isBroken: () => boolean): Store {
  const failIfBroken = (collection: string): void => {
    if (isBroken() && (collections as readonly string[]).includes(collection))
      throw new Error(`${collection} cannot be used`);
  };
  return {
    ...store,
    get: async (collection, id) => (failIfBroken(collection), store.get(collection, id)),
    getMany: async (collection, ids) => (failIfBroken(collection), store.getMany(collection, ids)),
    list: async (collection, options) => (failIfBroken(collection), store.list(collection, options)),
    texts: async (collection, which) => (failIfBroken(collection), store.texts(collection, which)),
    transact: (decide) =>
      store.transact((tx) =>
        decide({
          get: async (collection, id) => (failIfBroken(collection), tx.get(collection, id)),
          getMany: async (collection, ids) => (failIfBroken(collection), tx.getMany(collection, ids)),
          list: async (collection, options) => (failIfBroken(collection), tx.list(collection, options)),
          texts: async (collection, which) => (failIfBroken(collection), tx.texts(collection, which)),
          put: (collection, id, value, expected) => (failIfBroken(collection), tx.put(collection, id, value, expected)),
          delete: (collection, id, expected) => (failIfBroken(collection), tx.delete(collection, id, expected)),
        }),
      ),
  };
}
