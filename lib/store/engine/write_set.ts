/** The writes of one transaction, laid over what the store holds; for stores that read synchronously. */
import { Json } from "../json.ts";
import { jsonText } from "./json_text.ts";
import { checkKey } from "./record_key.ts";
import { type ListOptions, RevisionConflict, type Stored, type Tx } from "../store.ts";

/** One written record; `text` is its value as JSON, absent when it was deleted. `revision` is the last one used. */
export interface Version {
  readonly collection: string;
  readonly id: string;
  readonly revision: number;
  readonly text: string | undefined;
}

/** Versions by collection and id. */
export type Versions = Map<string, Map<string, Version>>;

/** A member of a page; its id alone when no more was asked for. */
export type Row = Pick<Stored, "id"> & Partial<Stored>;

/** What lies below a transaction: everything accepted before it. Values are the caller's own. */
export interface View {
  get(collection: string, id: string): Stored | undefined;
  list(collection: string, options: ListOptions<boolean>): Row[];
  /** Several records at once, where that is cheaper. */
  getMany?(collection: string, ids: readonly string[]): (Stored | undefined)[];
  /** The last revision of a record: negative when the record is deleted, 0 when it never was. */
  revision(collection: string, id: string): number;
}

/** A transaction under way. */
export interface Draft {
  readonly tx: Tx;
  /** Ends it and gives its writes; throws what a put or delete was refused for, even if the decision caught that. */
  finish(): Versions;
}

/** Begins a transaction over a view. */
export function draft(view: View): Draft {
  const writes: Versions = new Map();
  const known = new Map<string, Map<string, number>>();
  let refusal: unknown;
  let ended = false;

  const mustBeOpen = (): void => {
    if (ended) throw new Error("this transaction has ended: await every read and make every write within the decision");
  };

  const revision = (collection: string, id: string): number => {
    const written = writes.get(collection)?.get(id);
    if (written) return written.text === undefined ? -written.revision : written.revision;
    return known.get(collection)?.get(id) ?? view.revision(collection, id);
  };

  const write = (
    collection: string,
    id: string,
    expected: number | undefined,
    text: () => string | undefined,
  ): void => {
    mustBeOpen();
    try {
      checkKey(collection, id);
      const current = revision(collection, id);
      const actual = Math.max(current, 0);
      if (expected !== undefined && expected !== actual) throw new RevisionConflict(collection, id, expected, actual);
      const json = text();
      if (json === undefined && actual === 0) return;
      const next = json === undefined ? actual : Math.abs(current) + 1;
      inner(writes, collection).set(id, { collection, id, revision: next, text: json });
    } catch (error) {
      refusal ??= error;
      throw error;
    }
  };

  const get = <T>(collection: string, id: string): Stored<T> | undefined => {
    const written = writes.get(collection)?.get(id);
    if (written) return storedOf<T>(written);
    const stored = view.get(collection, id) as Stored<T> | undefined;
    if (stored) inner(known, collection).set(id, stored.revision);
    return stored;
  };

  const tx: Tx = {
    async get<T>(collection: string, id: string) {
      mustBeOpen();
      return get<T>(collection, id);
    },
    async getMany<T>(collection: string, ids: readonly string[]) {
      mustBeOpen();
      return ids.map((id) => get<T>(collection, id));
    },
    async list<T>(collection: string, options: ListOptions<boolean>) {
      mustBeOpen();
      checkList(options);
      return listOver((range) => view.list(collection, range), writes.get(collection), options) as Stored<T>[];
    },
    put: (collection, id, value, expected) =>
      write(collection, id, expected, () => textOf(value, `${collection}/${id}`)),
    delete: (collection, id, expected) => write(collection, id, expected, () => undefined),
  };

  const finish = (): Versions => {
    ended = true;
    if (refusal !== undefined) throw refusal;
    return writes;
  };
  return { tx, finish };
}

/** The text of a value, or the one made already. */
export const textOf = (value: unknown, name: string): string =>
  value instanceof Json ? value.text : jsonText(value, name);

/** The inner map of a map of maps, made when absent. */
export function inner<V>(maps: Map<string, Map<string, V>>, key: string): Map<string, V> {
  let map = maps.get(key);
  if (!map) maps.set(key, (map = new Map()));
  return map;
}

/** A version as a reader sees it; `undefined` when it is deleted. */
export function storedOf<T>({ id, revision, text }: Pick<Version, "id" | "revision" | "text">): Stored<T> | undefined {
  return text === undefined ? undefined : { id, revision, value: JSON.parse(text) as T };
}

/** A page of what lies below, as it reads with the versions of one collection laid over it. */
export function listOver(
  below: (options: ListOptions<boolean>) => Row[],
  versions: ReadonlyMap<string, Version> | undefined,
  options: ListOptions<boolean>,
): Row[] {
  if (!versions || versions.size === 0 || options.limit === 0) return below(options);
  const { after, limit, reverse = false, prefix = "", keysOnly } = options;
  const before = (a: string, b: string): boolean => (reverse ? a > b : a < b);
  const page = below({ ...options, limit: limit + versions.size }).filter(({ id }) => !versions.has(id));
  for (const version of versions.values()) {
    if (!version.id.startsWith(prefix) || (after !== undefined && !before(after, version.id))) continue;
    if (version.text !== undefined) page.push(keysOnly ? { id: version.id } : storedOf(version)!);
  }
  return page.sort((a, b) => (before(a.id, b.id) ? -1 : 1)).slice(0, limit);
}

/** Refuses a page size that is not a number of records, and a prefix that no id has. */
export function checkList({ limit, prefix = "" }: ListOptions<boolean>): void {
  if (!prefix.isWellFormed()) throw new TypeError("the prefix of a list is not well-formed Unicode");
  if (!Number.isSafeInteger(limit) || limit < 0)
    throw new RangeError(`limit must be a whole number of 0 or more, not ${limit}`);
}
