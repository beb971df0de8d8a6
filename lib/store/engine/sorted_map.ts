/** A map sorted by its keys, by UTF-16 code units. */
import * as sortedBtree from "sorted-btree";
import type { ListOptions } from "../store.ts";

// The package is CommonJS: under Node, and in bundles that follow Node, its default export arrives one level deeper.
const loaded = sortedBtree.default as typeof sortedBtree.default & { default?: typeof sortedBtree.default };
const BTree = loaded.default ?? loaded;

/** A map of text keys that can be read in order. */
export interface SortedMap<V> {
  readonly size: number;
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
  /** Returns at most `limit` entries whose keys have the `prefix` and follow `after` in the direction of `reverse`. */
  page(options: ListOptions<boolean>): [key: string, value: V][];
}

/** Returns the first text that sorts after every text with this prefix; `undefined` if there is none. */
export function findPrefixEnd(prefix: string): string | undefined {
  for (let length = prefix.length; length > 0; length--) {
    const last = prefix.charCodeAt(length - 1);
    if (last < 0xffff) return prefix.slice(0, length - 1) + String.fromCharCode(last + 1);
  }
  return undefined;
}

function compareCodeUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Returns the smaller of two texts, or the one that is defined. */
const smaller = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b < a) ? b : a;

/** Creates an empty sorted map. */
export function sortedMap<V>(): SortedMap<V> {
  const tree = new BTree<string, V>(undefined, compareCodeUnits);
  return {
    get size() {
      return tree.size;
    },
    get: (key) => tree.get(key),
    set: (key, value) => void tree.set(key, value),
    delete: (key) => void tree.delete(key),
    page({ after, limit, reverse = false, prefix = "" }) {
      const found: [string, V][] = [];
      if (limit === 0) return found;
      // The page starts after this key. Undefined: at the first key with the prefix or, in reverse, at the last key of the map.
      const forwardStart = after !== undefined && after >= prefix ? after : undefined;
      const start = reverse ? smaller(after, findPrefixEnd(prefix)) : forwardStart;
      for (const [key, value] of reverse ? tree.entriesReversed(start) : tree.entries(start ?? prefix)) {
        if (key === start) continue;
        if (!key.startsWith(prefix)) break;
        found.push([key, value]);
        if (found.length === limit) break;
      }
      return found;
    },
  };
}
