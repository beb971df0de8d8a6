/** Where every live record lies in the journal, in order of ids, and the last revisions of deleted ones. */
import { type Range, type SortedMap, sortedMap } from "../../lib/store/engine/sorted_map.ts";
import { fileOf } from "./place.ts";
import { sequence } from "./sequence.ts";
import { type Tombstones, tombstones } from "./tombstones.ts";

/** Places of records by collection and id. */
export interface Catalog {
  place(collection: string, id: string): number | undefined;
  page(collection: string, range: Range): [id: string, place: number][];
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
