/** Where every live record lies in the journal, in order of ids, and the last revisions of deleted ones. */
import { sequenceId } from "../../lib/store/collections.ts";
import { behindPrefix, type SortedMap, sortedMap } from "../../lib/store/engine/sorted_map.ts";
import type { ListOptions } from "../../lib/store/store.ts";
import { type Tombstones, tombstones } from "./tombstones.ts";

const SPAN = 2 ** 32;

/** The place of an operation as one number: a file of the journal, counted from 1 as this process opens them, and an offset. */
export const placeOf = (file: number, offset: number): number => file * SPAN + offset;

/** The file of a place. */
export const fileOf = (place: number): number => Math.floor(place / SPAN);

/** The offset of a place in its file, in bytes. */
export const offsetOf = (place: number): number => place % SPAN;

/** Places of records by collection and id. */
export interface Catalog {
  place(collection: string, id: string): number | undefined;
  page(collection: string, range: ListOptions<boolean>): [id: string, place: number][];
  /** The number of live records. */
  size(collection: string): number;
  /** The last revision of a deleted record, 0 when there is none. */
  buried(collection: string, id: string): number;
  put(collection: string, id: string, place: number): void;
  bury(collection: string, id: string, revision: number): void;
}

interface Collection {
  places: SortedMap<number>;
  dead: Tombstones;
}

/** An empty catalog. `released` is told the file of each operation that a later one has replaced. */
export function newCatalog(sequences: readonly string[], released: (file: number) => void): Catalog {
  const collections = new Map<string, Collection>();

  const made = (name: string): Collection => {
    let collection = collections.get(name);
    if (!collection) {
      collection = { places: sequences.includes(name) ? sequence() : sortedMap(), dead: tombstones() };
      collections.set(name, collection);
    }
    return collection;
  };

  return {
    place: (collection, id) => collections.get(collection)?.places.get(id),
    page: (collection, range) => collections.get(collection)?.places.page(range) ?? [],
    size: (collection) => collections.get(collection)?.places.size ?? 0,
    buried: (collection, id) => collections.get(collection)?.dead.get(id) ?? 0,
    put(collection, id, place) {
      const { places } = made(collection);
      const before = places.get(id);
      places.set(id, place);
      if (before !== undefined) released(fileOf(before));
    },
    bury(collection, id, revision) {
      const { places, dead } = made(collection);
      const before = places.get(id);
      if (before !== undefined) {
        places.delete(id);
        released(fileOf(before));
      }
      dead.raise(id, revision);
    },
  };
}

/**
 * Places of records that are only appended, whose ids count up from 1: eight bytes each, and no text. `set` takes the next
 * id, or one that is there; nothing is ever deleted.
 */
export function sequence(): SortedMap<number> {
  let places = new Float64Array(1024);
  let size = 0;

  const numberOf = (id: string): number => {
    const number = Number(id);
    return number >= 1 && number <= size && sequenceId(number) === id ? number : 0;
  };

  /** How many ids come before this one, itself counted when `inclusive`. */
  const countBefore = (id: string, inclusive: boolean): number => {
    let low = 0;
    let high = size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const candidate = sequenceId(middle + 1);
      if (candidate < id || (inclusive && candidate === id)) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return {
    get size() {
      return size;
    },
    get(id) {
      const number = numberOf(id);
      return number === 0 ? undefined : places[number - 1];
    },
    set(id, place) {
      const number = numberOf(id);
      if (number === 0 && id !== sequenceId(size + 1)) throw new Error(`${id} does not follow ${sequenceId(size)}`);
      if (size === places.length) {
        const larger = new Float64Array(Math.ceil(size * 1.5));
        larger.set(places);
        places = larger;
      }
      places[number === 0 ? size++ : number - 1] = place;
    },
    delete(id) {
      throw new Error(`${id} is in a sequence, of which nothing is deleted`);
    },
    page({ after, limit, reverse = false, prefix = "" }) {
      const step = reverse ? -1 : 1;
      const behind = behindPrefix(prefix);
      const first = countBefore(prefix, false);
      const last = (behind === undefined ? size : countBefore(behind, false)) - 1;
      let index = reverse ? last : first;
      if (after !== undefined)
        index = reverse ? Math.min(last, countBefore(after, false) - 1) : Math.max(first, countBefore(after, true));
      const found: [string, number][] = [];
      for (; index >= first && index <= last && found.length < limit; index += step)
        found.push([sequenceId(index + 1), places[index]!]);
      return found;
    },
  };
}
