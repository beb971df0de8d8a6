/** Buffers the writes of a projection on top of its stored rows. */
import { type Json, json } from "../store/json.ts";
import { mergeList } from "../store/engine/write_set.ts";
import type { Collection, ListOptions, Reads, Stored, Tx } from "../store/store.ts";
import type { Version } from "../store/version.ts";

/** A transaction whose writes are collected before it begins. Expected revisions are ignored. */
export interface WriteBuffer extends Tx {
  /** The number of records written. */
  readonly size: number;
  /** Repeats the writes in a transaction of the store. */
  flush(tx: Tx): void;
}

/** Creates an empty buffer; its reads see its own writes. */
export function createWriteBuffer(stored: Reads): WriteBuffer {
  const written = new Map<Collection, Map<string, Version>>();
  let size = 0;

  const write = (collection: Collection, id: string, value: Json | undefined): void => {
    let versions = written.get(collection);
    if (!versions) written.set(collection, (versions = new Map()));
    if (!versions.has(id)) size++;
    versions.set(id, { collection, id, revision: 0, json: value });
  };
  const getMany = async (collection: Collection, ids: readonly string[]): Promise<(Stored | undefined)[]> => {
    const buffered = ids.map((id) => written.get(collection)?.get(id));
    const missing = ids.filter((_, index) => !buffered[index]);
    const rest = missing.length === 0 ? [] : await stored.getMany(collection, missing);
    return buffered.map((version) => (version ? toStored(version) : rest.shift()));
  };
  const list = async (collection: Collection, options: ListOptions<boolean>): Promise<Stored[]> => {
    const rows = await mergeList(written.get(collection), options, (below) => stored.list(collection, below));
    // Rows are records of the store or buffered versions; one with neither `value` nor `json` is a key of a list with keys only.
    return rows.map((row) => ("value" in row ? (row as Stored) : (toStored(row as Version) ?? (row as Stored))));
  };

  return {
    get: (async (collection: Collection, id: string) => (await getMany(collection, [id]))[0]) as Tx["get"],
    getMany: getMany as Tx["getMany"],
    list: list as Tx["list"],
    async texts(collection, selection) {
      const rows = await ("limit" in selection ? list(collection, selection) : getMany(collection, selection));
      return rows.flatMap((row) => (row ? { id: row.id, text: JSON.stringify(row.value) } : []));
    },
    put: (collection, id, value) => write(collection, id, json(value, `${collection}/${id}`)),
    delete: (collection, id) => write(collection, id, undefined),
    get size() {
      return size;
    },
    flush(tx) {
      for (const [collection, versions] of written)
        for (const { id, json: value } of versions.values())
          if (value) tx.put(collection, id, value as Json<never>);
          else tx.delete(collection, id);
    },
  };
}

/** Returns a buffered version as a record; undefined for a deleted one. */
const toStored = ({ id, revision, json: content }: Version): Stored | undefined =>
  content && { id, revision, value: content.value };
