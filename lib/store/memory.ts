/** A store in memory: everything the port promises but surviving its process. Runs anywhere. */
import { checkList, draft, storedOf, type Version, type Versions, type View } from "./engine/write_set.ts";
import { type SortedMap, sortedMap } from "./engine/sorted_map.ts";
import { type ListOptions, type Store, type Stored, StoreUnavailable, type Tx } from "./store.ts";

interface Collection {
  live: SortedMap<Version>;
  /** The last revision of each deleted record. */
  dead: Map<string, number>;
}

/** An empty store. */
export function memoryStore(): Store {
  const collections = new Map<string, Collection>();
  let queue: Promise<unknown> = Promise.resolve();
  let closed = false;

  const view: View = {
    get(collection, id) {
      const version = collections.get(collection)?.live.get(id);
      return version && storedOf(version);
    },
    list(collection, options) {
      const page = collections.get(collection)?.live.page(options) ?? [];
      return page.map(([id, version]) => (options.keysOnly ? { id } : storedOf(version)!));
    },
    revision(collection, id) {
      const kept = collections.get(collection);
      return kept?.live.get(id)?.revision ?? -(kept?.dead.get(id) ?? 0);
    },
  };

  const keep = (writes: Versions): void => {
    for (const [name, versions] of writes) {
      let collection = collections.get(name);
      if (!collection) collections.set(name, (collection = { live: sortedMap(), dead: new Map() }));
      const { live, dead } = collection;
      for (const version of versions.values()) {
        if (version.text === undefined) {
          live.delete(version.id);
          dead.set(version.id, version.revision);
        } else {
          live.set(version.id, version);
          dead.delete(version.id);
        }
      }
    }
  };

  const attempt = async <T>(decide: (tx: Tx) => T | Promise<T>): Promise<T> => {
    const { tx, finish } = draft(view);
    const result = await decide(tx);
    keep(finish());
    return result;
  };

  return {
    async get<T>(collection: string, id: string) {
      return view.get(collection, id) as Stored<T> | undefined;
    },
    async getMany<T>(collection: string, ids: readonly string[]) {
      return ids.map((id) => view.get(collection, id) as Stored<T> | undefined);
    },
    async list<T>(collection: string, options: ListOptions<boolean>) {
      checkList(options);
      return view.list(collection, options) as Stored<T>[];
    },
    transact<T>(decide: (tx: Tx) => T | Promise<T>) {
      if (closed) return Promise.reject(new StoreUnavailable("the store is closed"));
      const done = queue.then(() => attempt(decide));
      queue = done.catch(() => undefined);
      return done;
    },
    async close() {
      closed = true;
      await queue;
    },
  };
}
