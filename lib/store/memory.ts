/** A store in memory: everything the port promises but surviving its process. Runs anywhere. */
import { serial } from "./engine/serial.ts";
import { type SortedMap, sortedMap } from "./engine/sorted_map.ts";
import { readsOf, type Version, type View } from "./engine/view.ts";
import type { Store } from "./store.ts";

interface Collection {
  live: SortedMap<Version>;
  /** The last version of each deleted record. */
  dead: Map<string, Version>;
}

/** An empty store. */
export function memoryStore(): Store {
  const collections = new Map<string, Collection>();

  const view: View = {
    versions: (keys) =>
      keys.map(({ collection, id }) => {
        const { live, dead } = collections.get(collection) ?? {};
        return live?.get(id) ?? dead?.get(id);
      }),
    list: (collection, options) =>
      (collections.get(collection)?.live.page(options) ?? []).map(([, version]) => version),
  };

  const keep = (version: Version): void => {
    const { collection: name, id, json } = version;
    let collection = collections.get(name);
    if (!collection) collections.set(name, (collection = { live: sortedMap(), dead: new Map() }));
    const { live, dead } = collection;
    if (json) {
      live.set(id, version);
      dead.delete(id);
    } else {
      live.delete(id);
      dead.set(id, version);
    }
  };

  return { ...readsOf(view), ...serial(view, { keep: (writes) => writes.forEach(keep) }) };
}
