/** Reads of an engine, and the port's reads over them. */
import type { Listed, ListOptions, Reads, Stored, Text } from "../store.ts";
import type { Key, Version } from "../version.ts";

export type { Key, Version };

/** Returns the key of a record as one text, for maps. */
export const recordName = ({ collection, id }: Key): string => `${collection}\0${id}`;

/** A record of a page that is not deleted; only its id if `keysOnly` was requested. */
export type Row = Pick<Version, "id"> & Partial<Version>;

/** A value, or a promise of it. */
export type Awaitable<T> = T | Promise<T>;

/** Applies a function to a value, synchronously if the value is no promise: a promise costs as much time as reading a record. */
export const mapAwaitable = <A, B>(value: Awaitable<A>, transform: (value: A) => B): Awaitable<B> =>
  value instanceof Promise ? value.then((resolved) => transform(resolved)) : transform(value);

/** Returns all values, synchronously if none is a promise. */
export const awaitAll = <T>(values: readonly Awaitable<T>[]): Awaitable<readonly T[]> =>
  values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[]);

type FoundVersions = readonly (Version | undefined)[];

/** Reads the records of an engine. An engine that reads synchronously returns values instead of promises. */
export interface View {
  /** Returns the last version of each record, in the order of `keys`; `undefined` for a record that never existed. */
  versions(keys: readonly Key[]): Awaitable<FoundVersions>;
  list(collection: string, options: ListOptions<boolean>): Awaitable<readonly Row[]>;
  /** See `Engine.assumeAbsent`. */
  assumeAbsent?(key: Key): { readonly found: Version | undefined } | undefined;
}

/** A view that reads synchronously, so that nothing changes during a read. */
export interface SyncView extends View {
  versions(keys: readonly Key[]): FoundVersions;
  list(collection: string, options: ListOptions<boolean>): readonly Row[];
}

/** Returns the inner map of a map of maps, and creates it if absent. */
export function getInnerMap<V>(maps: Map<string, Map<string, V>>, key: string): Map<string, V> {
  let map = maps.get(key);
  if (!map) maps.set(key, (map = new Map()));
  return map;
}

/** Creates the port's reads over a view. */
export function makeReads(view: View): Reads {
  const listPage = (collection: string, options: ListOptions<boolean>): Awaitable<readonly Row[]> => {
    requireValidListOptions(options);
    return options.limit === 0 ? [] : view.list(collection, options);
  };
  const readVersions = (collection: string, ids: readonly string[]): Awaitable<FoundVersions> =>
    view.versions(ids.map((id) => ({ collection, id })));
  return {
    async get<T>(collection: string, id: string) {
      const [version] = await view.versions([{ collection, id }]);
      return version && toStored<T>(version);
    },
    async getMany<T>(collection: string, ids: readonly string[]) {
      return (await readVersions(collection, ids)).map((version) => version && toStored<T>(version));
    },
    async list<K extends boolean, T>(collection: string, options: ListOptions<K>) {
      const page = await listPage(collection, options);
      return page.map((row) => (options.keysOnly ? { id: row.id } : toStored(row as Version))) as Listed<K, T>[];
    },
    async texts(collection: string, which: ListOptions | readonly string[]) {
      const rows = await ("limit" in which ? listPage(collection, which) : readVersions(collection, which));
      const found: Text[] = [];
      for (const row of rows) if (row?.json) found.push({ id: row.id, text: row.json.text });
      return found;
    },
  };
}

/** Converts a version to a record of the port; `undefined` if it is deleted. */
const toStored = <T>({ id, revision, json }: Version): Stored<T> | undefined =>
  json && { id, revision, value: json.value as T };

/** Rejects an invalid page size, and a prefix that no id can have. */
function requireValidListOptions({ limit, prefix = "" }: ListOptions<boolean>): void {
  if (!Number.isSafeInteger(limit) || limit < 0)
    throw new RangeError(`limit must be a whole number of 0 or more, not ${limit}`);
  if (!prefix.isWellFormed()) throw new TypeError("the prefix of a list is not well-formed Unicode");
}
