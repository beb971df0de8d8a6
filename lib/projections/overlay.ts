/** Writes laid over what is stored, in memory: what a follower makes of entries before it is stored, or without that. */
import { Json, json } from "../store/json.ts";
import type { Collection, ListOptions, Reads, Store, Stored, Tx } from "../store/store.ts";

/** A record as it was written; absent `json`: deleted. */
export interface Written {
  collection: Collection;
  id: string;
  json: Json<never> | undefined;
}

/** Records as they read with what was written since. */
export interface Overlay extends Tx {
  /** How many records were written, or written again, since they were taken last. */
  readonly size: number;
  /** Takes what was written since the last time; it goes on being read. */
  take(): readonly Written[];
  /** All that was written. */
  written(): Written[];
}

type Row = Pick<Stored, "id"> & Partial<Stored>;

/** A store that holds nothing. */
export const nothing: Reads = {
  get: async () => undefined,
  getMany: async (_, ids) => ids.map(() => undefined),
  list: async () => [],
  texts: async () => [],
};

/** What was written to a collection, and its ids in order. */
interface Own {
  byId: Map<string, Written>;
  ids: string[];
  /** Whatever lies below up to this id was written over. */
  covered: string;
}

/** Lays writes over what lies below, further ones over those of another overlay; what lies below stays as it is. */
export function overlay(below: Reads, written: readonly Written[] = []): Overlay {
  const kept = new Map<Collection, Own>();
  let fresh = new Set<Written>();
  const write = (one: Written): void => {
    let own = kept.get(one.collection);
    if (!own) kept.set(one.collection, (own = { byId: new Map(), ids: [], covered: "" }));
    const { byId, ids } = own;
    const before = byId.get(one.id);
    // Mostly ids rise. What is deleted above nothing is gone.
    if (!before) ids.splice(ids.length === 0 || ids.at(-1)! < one.id ? ids.length : placeOf(ids, one.id), 0, one.id);
    else fresh.delete(before);
    byId.set(one.id, one);
    fresh.add(one);
    if (one.json || below !== nothing) return;
    byId.delete(one.id);
    fresh.delete(one);
    ids.splice(placeOf(ids, one.id), 1);
  };
  written.forEach(write);
  fresh = new Set();

  const get = async (collection: Collection, id: string): Promise<Stored | undefined> => {
    const own = kept.get(collection)?.byId.get(id);
    return own ? storedOf(own) : below.get(collection, id);
  };

  const getMany = async (collection: Collection, ids: readonly string[]): Promise<(Stored | undefined)[]> => {
    const own = kept.get(collection)?.byId;
    const written = ids.map((id) => own?.get(id));
    const missing = ids.filter((_, index) => !written[index]);
    const found = missing.length === 0 ? [] : await below.getMany(collection, missing);
    let next = 0;
    return written.map((one) => (one ? storedOf(one) : found[next++]));
  };

  const list = async (collection: Collection, options: ListOptions<boolean>): Promise<Row[]> => {
    const own = kept.get(collection);
    const { limit, reverse = false, after = "", prefix = "" } = options;
    if (!own || limit === 0) return below.list(collection, options);
    const rows = pageOf(own, options);
    // A ring that is full has its oldest deleted one by one: none of them is to be passed over more than once.
    const fromFirst = !reverse && prefix === "" && after <= own.covered;
    // Mostly what was written covers nothing that lies below: then one page is enough.
    let last = fromFirst && own.covered ? { ...options, after: own.covered } : options;
    for (let missing = limit; missing > 0;) {
      const page: Row[] = await below.list(collection, last);
      const uncovered = page.filter(({ id }) => !own.byId.has(id));
      if (fromFirst && missing === limit && uncovered.length === 0) own.covered = page.at(-1)?.id ?? own.covered;
      rows.push(...uncovered);
      missing -= uncovered.length;
      if (page.length < last.limit) break;
      last = { ...options, after: page.at(-1)!.id, limit: last.limit * 2 };
    }
    return rows.sort((a, b) => (a.id < b.id === reverse ? 1 : -1)).slice(0, limit);
  };

  return {
    get: get as Tx["get"],
    getMany: getMany as Tx["getMany"],
    list: list as Tx["list"],
    async texts(collection, which) {
      const rows = await ("limit" in which ? list(collection, which) : getMany(collection, which));
      return rows.flatMap((row) => (row ? { id: row.id, text: JSON.stringify(row.value) } : []));
    },
    put: (collection, id, value) => write({ collection, id, json: made(value, `${collection}/${id}`) }),
    delete: (collection, id) => write({ collection, id, json: undefined }),
    get size() {
      return fresh.size;
    },
    take() {
      const taken = [...fresh];
      fresh = new Set();
      return taken;
    },
    written: () => [...kept.values()].flatMap(({ byId }) => [...byId.values()]),
  };
}

/** A store that only one reader has, for what is made to be looked at once. */
export function scratch(): Store {
  const tx = overlay(nothing);
  return { ...tx, transact: async (decide) => decide(tx), close: async () => {} };
}

/** Where an id is among ids in order, or would be. */
function placeOf(ids: readonly string[], id: string): number {
  let low = 0;
  for (let high = ids.length; low < high;) {
    const middle = (low + high) >>> 1;
    if (ids[middle]! < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

function pageOf({ byId, ids }: Own, { after, limit, reverse = false, prefix = "" }: ListOptions<boolean>): Row[] {
  const rows: Row[] = [];
  const begin = reverse
    ? (after === undefined ? ids.length : placeOf(ids, after)) - 1
    : placeOf(ids, after === undefined || after < prefix ? prefix : after);
  for (let at = begin; rows.length < limit; at += reverse ? -1 : 1) {
    const id = ids[at];
    if (id === undefined || (reverse ? id < prefix : id > prefix && !id.startsWith(prefix))) break;
    const one = byId.get(id)!;
    if (one.json && id !== after && id.startsWith(prefix)) rows.push(storedOf(one)!);
  }
  return rows;
}

const made = (value: unknown, name: string) => (value instanceof Json ? value : json(value, name)) as Json<never>;

const storedOf = ({ id, json }: Written): Stored | undefined => json && { id, revision: 0, value: json.value };
