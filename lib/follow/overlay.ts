/** Writes laid over what is stored, in memory: what a follower makes of entries before it is stored, or without that. */
import { type Json, jsonOf } from "../store/json.ts";
import type { Collection, ListOptions, Reads, Stored, Tx } from "../store/store.ts";

/** A record as it was written; absent `json`: deleted. */
export interface Written {
  collection: Collection;
  id: string;
  json: Json<never> | undefined;
}

/** Records as they read with what was written since. */
export interface Overlay extends Tx {
  /** How many records were written. */
  readonly size: number;
  written(): Written[];
}

type Row = Pick<Stored, "id"> & Partial<Stored>;

/** A store that holds nothing. */
export const nothing: Reads = {
  get: async () => undefined,
  getMany: async (_, ids) => ids.map(() => undefined),
  list: async () => [],
};

/** Lays writes over what lies below, further ones over those of another overlay; what lies below stays as it is. */
export function overlay(below: Reads, written: readonly Written[] = []): Overlay {
  const kept = new Map<Collection, Map<string, Written>>();
  const write = (one: Written): void => {
    if (!kept.has(one.collection)) kept.set(one.collection, new Map());
    kept.get(one.collection)!.set(one.id, one);
  };
  written.forEach(write);

  const getMany = async (collection: Collection, ids: readonly string[]): Promise<(Stored | undefined)[]> => {
    const own = kept.get(collection);
    const missing = ids.filter((id) => !own?.has(id));
    const found = missing.length === 0 ? [] : await below.getMany(collection, missing);
    const stored = new Map(missing.map((id, index) => [id, found[index]]));
    return ids.map((id) => (own?.has(id) ? storedOf(own.get(id)!) : stored.get(id)));
  };

  const list = async (collection: Collection, options: ListOptions<boolean>): Promise<Row[]> => {
    const { after, limit, reverse = false, prefix = "" } = options;
    const own = kept.get(collection);
    if (!own || limit === 0) return below.list(collection, options);
    const comesBefore = (a: string, b: string): boolean => (reverse ? a > b : a < b);
    const rows: Row[] = [...own.values()].filter(
      ({ id, json }) => json && id.startsWith(prefix) && (after === undefined || comesBefore(after, id)),
    );
    // Mostly what was written covers nothing that lies below: then one page is enough.
    for (let last = options, missing = limit; missing > 0;) {
      const page: Row[] = await below.list(collection, last);
      const uncovered = page.filter(({ id }) => !own.has(id));
      rows.push(...uncovered);
      missing -= uncovered.length;
      if (page.length < last.limit) break;
      last = { ...options, after: page.at(-1)!.id, limit: last.limit * 2 };
    }
    const inOrder = rows.sort((a, b) => (comesBefore(a.id, b.id) ? -1 : 1)).slice(0, limit);
    return inOrder.map((row) => (own.has(row.id) ? storedOf(own.get(row.id)!)! : row));
  };

  return {
    get: (async (collection: Collection, id: string) => (await getMany(collection, [id]))[0]) as Tx["get"],
    getMany: getMany as Tx["getMany"],
    list: list as Tx["list"],
    put: (collection, id, value) =>
      write({ collection, id, json: jsonOf(value, `${collection}/${id}`) as Json<never> }),
    delete: (collection, id) => write({ collection, id, json: undefined }),
    get size() {
      return [...kept.values()].reduce((sum, own) => sum + own.size, 0);
    },
    written: () => [...kept.values()].flatMap((own) => [...own.values()]),
  };
}

const storedOf = ({ id, json }: Written): Stored | undefined => json && { id, revision: 0, value: json.value };
