/** Reads of an engine, and the port's reads over them. */
import type { Listed, ListOptions, Reads, Stored, Text } from "../store.ts";
import type { Key, Version } from "../version.ts";

export type { Key, Version };

/** Tells keys apart in a map. */
export const recordName = ({ collection, id }: Key): string => `${collection}\0${id}`;

/** A live record of a page; its id alone when no more was asked for. */
export type Row = Pick<Version, "id"> & Partial<Version>;

/** A value, or a promise of it. */
export type Awaitable<T> = T | Promise<T>;

/** Makes something of a value, at once when it is there: a promise costs as much as a record. */
export const mapAwaitable = <A, B>(value: Awaitable<A>, make: (there: A) => B): Awaitable<B> =>
  value instanceof Promise ? value.then((there) => make(there)) : make(value);

/** All values, immediately when they are there. */
export const awaitAll = <T>(values: readonly Awaitable<T>[]): Awaitable<readonly T[]> =>
  values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[]);

type FoundVersions = readonly (Version | undefined)[];

/** The records that an engine has; one that is read synchronously need make no promises. */
export interface View {
  /** The last version of each record, in the order asked for; `undefined` when it never was. */
  versions(keys: readonly Key[]): Awaitable<FoundVersions>;
  list(collection: string, options: ListOptions<boolean>): Awaitable<readonly Row[]>;
  /** Returns the version of a record that is put as absent, where it need not be read. */
  untouched?(key: Key): { readonly found: Version | undefined } | undefined;
}

/** Records that are read at one moment: what moves from one place to another meanwhile is not missed in both. */
export interface SyncView extends View {
  versions(keys: readonly Key[]): FoundVersions;
  list(collection: string, options: ListOptions<boolean>): readonly Row[];
}

/** The inner map of a map of maps, made when absent. */
export function getInnerMap<V>(maps: Map<string, Map<string, V>>, key: string): Map<string, V> {
  let map = maps.get(key);
  if (!map) maps.set(key, (map = new Map()));
  return map;
}

/** The reads of the port over a view. */
export function makeReads(view: View): Reads {
  const pageOf = (collection: string, options: ListOptions<boolean>): Awaitable<readonly Row[]> => {
    checkList(options);
    return options.limit === 0 ? [] : view.list(collection, options);
  };
  const versionsOf = (collection: string, ids: readonly string[]): Awaitable<FoundVersions> =>
    view.versions(ids.map((id) => ({ collection, id })));
  return {
    async get<T>(collection: string, id: string) {
      const [version] = await view.versions([{ collection, id }]);
      return version && storedOf<T>(version);
    },
    async getMany<T>(collection: string, ids: readonly string[]) {
      return (await versionsOf(collection, ids)).map((version) => version && storedOf<T>(version));
    },
    async list<K extends boolean, T>(collection: string, options: ListOptions<K>) {
      const page = await pageOf(collection, options);
      return page.map((row) => (options.keysOnly ? { id: row.id } : storedOf(row as Version))) as Listed<K, T>[];
    },
    async texts(collection: string, which: ListOptions | readonly string[]) {
      const rows = await ("limit" in which ? pageOf(collection, which) : versionsOf(collection, which));
      const found: Text[] = [];
      for (const row of rows) if (row?.json) found.push({ id: row.id, text: row.json.text });
      return found;
    },
  };
}

/** A version as a reader sees it; `undefined` when it is deleted. */
const storedOf = <T>({ id, revision, json }: Version): Stored<T> | undefined =>
  json && { id, revision, value: json.value as T };

/** Refuses a page size that is not a number of records, and a prefix that no id can have. */
function checkList({ limit, prefix = "" }: ListOptions<boolean>): void {
  if (!Number.isSafeInteger(limit) || limit < 0)
    throw new RangeError(`limit must be a whole number of 0 or more, not ${limit}`);
  if (!prefix.isWellFormed()) throw new TypeError("the prefix of a list is not well-formed Unicode");
}
