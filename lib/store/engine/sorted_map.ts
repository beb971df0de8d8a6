/** A map kept in order of its keys, by UTF-16 code units. */
import * as sortedBtree from "sorted-btree";

// The package is CommonJS: under Node, and in bundles that follow Node, its default export arrives one level deeper.
const loaded = sortedBtree.default as typeof sortedBtree.default & { default?: typeof sortedBtree.default };
const BTree = loaded.default ?? loaded;

/** What a page reads: keys beyond `after` (exclusive) in the direction asked for, `limit` at most. */
export interface Range {
  after?: string;
  limit: number;
  reverse?: boolean;
}

/** A map of text keys that can be read in order. */
export interface SortedMap<V> {
  readonly size: number;
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
  page(range: Range): [key: string, value: V][];
}

const byCodeUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** An empty sorted map. */
export function sortedMap<V>(): SortedMap<V> {
  const tree = new BTree<string, V>(undefined, byCodeUnits);
  return {
    get size() {
      return tree.size;
    },
    get: (key) => tree.get(key),
    set: (key, value) => void tree.set(key, value),
    delete: (key) => void tree.delete(key),
    page({ after, limit, reverse = false }) {
      const found: [string, V][] = [];
      if (limit === 0) return found;
      for (const [key, value] of reverse ? tree.entriesReversed(after) : tree.entries(after)) {
        if (key === after) continue;
        found.push([key, value]);
        if (found.length === limit) break;
      }
      return found;
    },
  };
}
