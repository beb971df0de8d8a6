import type { Collection, Store } from "../../lib/store/store.ts";

/** Wraps a store so that reads and writes of some collections fail while `broken` returns true. */
export function brokenCollections(store: Store, collections: readonly Collection[], broken: () => boolean): Store {
  const use = (collection: string): void => {
    if (broken() && (collections as readonly string[]).includes(collection))
      throw new Error(`${collection} cannot be used`);
  };
  return {
    ...store,
    get: async (collection, id) => (use(collection), store.get(collection, id)),
    getMany: async (collection, ids) => (use(collection), store.getMany(collection, ids)),
    list: async (collection, options) => (use(collection), store.list(collection, options)),
    texts: async (collection, which) => (use(collection), store.texts(collection, which)),
    transact: (decide) =>
      store.transact((tx) =>
        decide({
          get: async (collection, id) => (use(collection), tx.get(collection, id)),
          getMany: async (collection, ids) => (use(collection), tx.getMany(collection, ids)),
          list: async (collection, options) => (use(collection), tx.list(collection, options)),
          texts: async (collection, which) => (use(collection), tx.texts(collection, which)),
          put: (collection, id, value, expected) => (use(collection), tx.put(collection, id, value, expected)),
          delete: (collection, id, expected) => (use(collection), tx.delete(collection, id, expected)),
        }),
      ),
  };
}
