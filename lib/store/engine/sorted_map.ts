/** A map kept in order of its keys, by UTF-16 code units. */
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
  /** Keys with `prefix` beyond `after` (exclusive) in the direction asked for, `limit` at most. */
  page(options: ListOptions<boolean>): [key: string, value: V][];
}

/** The first text behind all that begin with a prefix; `undefined` when there is none. */
export function findPrefixEnd(prefix: string): string | undefined {
  for (let length = prefix.length; length > 0; length--) {
    const last = prefix.charCodeAt(length - 1);
    if (last < 0xffff) return prefix.slice(0, length - 1) + String.fromCharCode(last + 1);
  }
  return undefined;
}

const byCodeUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const lower = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b < a) ? b : a;

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
    page({ after, limit, reverse = false, prefix = "" }) {
      const found: [string, V][] = [];
      if (limit === 0) return found;
      // Index of the beginning, exclusive.
      const behind = findPrefixEnd(prefix);
      const first = reverse ? lower(after, behind) : after !== undefined && after >= prefix ? after : undefined;
      for (const [key, value] of reverse ? tree.entriesReversed(first) : tree.entries(first ?? prefix)) {
        if (key === first) continue;
        if (!key.startsWith(prefix)) break;
        found.push([key, value]);
        if (found.length === limit) break;
      }
      return found;
    },
  };
}
