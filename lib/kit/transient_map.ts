/** A Map for entries that come and go all the time. */

/** The part of a Map that this needs. */
export interface TransientMap<K, V> extends Pick<ReadonlyMap<K, V>, "size" | "get" | "has" | "keys" | "values"> {
  set(key: K, value: V): void;
  delete(key: K): void;
}

const MIN_DELETIONS = 1000;

/**
 * An empty one. V8 moves a Map into a new table whenever the old one is full, deleted entries counted, and leaves the old one
 * pointing at the new. Once one of them has grown old, all that follow it, and what they held, stay until the next whole
 * collection: of reads that took a sixth of the processor time. A new Map ends the row.
 */
export function createTransientMap<K, V>(): TransientMap<K, V> {
  let map = new Map<K, V>();
  let deleted = 0;
  return {
    get size() {
      return map.size;
    },
    get: (key) => map.get(key),
    has: (key) => map.has(key),
    set: (key, value) => void map.set(key, value),
    delete(key) {
      if (!map.delete(key) || ++deleted < Math.max(MIN_DELETIONS, map.size)) return;
      map = new Map(map);
      deleted = 0;
    },
    keys: () => map.keys(),
    values: () => map.values(),
  };
}
