/** Writes laid over what is stored, in memory: what a follower makes of entries before it is stored, or in place of that. */
import { type SortedMap, sortedMap } from "../store/engine/sorted_map.ts";
import { type Json, jsonOf } from "../store/json.ts";
import type { Collection, Reads, Stored, Tx } from "../store/store.ts";

/** A record as it was written; absent `json`: deleted. */
export interface Written {
  collection: Collection;
  id: string;
  json: Json | undefined;
}

/** Records as they read with what was written since. */
export interface Overlay extends Tx {
  /** How many records were written. */
  readonly size: number;
  written(): Written[];
}

type Listing = Parameters<Reads["list"]>[1];
type Row = Pick<Stored, "id">;

/** A store that holds nothing. */
export const nothing: Reads = {
  get: async () => undefined,
  getMany: async (_, ids) => ids.map(() => undefined),
  list: async () => [],
};

/** What was written of one collection; what was deleted is there without its text, where something may lie below it. */
interface Own {
  versions: SortedMap<{ json: Json | undefined }>;
  deleted: number;
}

/** Lays writes over what lies below; what lies below stays as it is. */
export function overlay(below: Reads): Overlay {
  const kept = new Map<Collection, Own>();
  const own = (collection: Collection): Own => {
    let made = kept.get(collection);
    if (!made) kept.set(collection, (made = { versions: sortedMap(), deleted: 0 }));
    return made;
  };

  const write = (collection: Collection, id: string, json: Json | undefined): void => {
    const made = own(collection);
    const before = made.versions.get(id);
    if (before && !before.json) made.deleted--;
    if (!json && below === nothing) return made.versions.delete(id);
    made.versions.set(id, { json });
    if (!json) made.deleted++;
  };

  const getMany = async (collection: Collection, ids: readonly string[]): Promise<(Stored | undefined)[]> => {
    const { versions } = own(collection);
    const missing = ids.filter((id) => !versions.get(id));
    const found = missing.length === 0 ? [] : await below.getMany(collection, missing);
    const stored = new Map(missing.map((id, index) => [id, found[index]]));
    return ids.map((id) => {
      const version = versions.get(id);
      return version ? storedOf(id, version.json) : stored.get(id);
    });
  };

  const list = async (collection: Collection, options: Listing): Promise<Row[]> => {
    const { versions, deleted } = own(collection);
    const { limit, reverse = false, keysOnly } = options;
    const page: Row[] = await below.list(collection, { ...options, limit: limit === 0 ? 0 : limit + versions.size });
    if (versions.size === 0) return page;
    const merged = page.filter(({ id }) => !versions.get(id));
    for (const [id, { json }] of versions.page({ ...options, limit: limit === 0 ? 0 : limit + deleted }))
      if (json) merged.push(keysOnly ? { id } : storedOf(id, json)!);
    return merged.sort((a, b) => (a.id < b.id !== reverse ? -1 : 1)).slice(0, limit);
  };

  return {
    get: (async (collection: Collection, id: string) => (await getMany(collection, [id]))[0]) as Tx["get"],
    getMany: getMany as Tx["getMany"],
    list: list as Tx["list"],
    put: (collection, id, value) => write(collection, id, jsonOf(value, `${collection}/${id}`)),
    delete: (collection, id) => write(collection, id, undefined),
    get size() {
      let size = 0;
      for (const { versions } of kept.values()) size += versions.size;
      return size;
    },
    written: () =>
      [...kept].flatMap(([collection, { versions }]) =>
        versions.page({ limit: versions.size }).map(([id, { json }]): Written => ({ collection, id, json })),
      ),
  };
}

const storedOf = (id: string, json: Json | undefined): Stored | undefined =>
  json && { id, revision: 0, value: json.value };
