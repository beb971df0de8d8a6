/** Wrappers that make the memory store break one rule of the contract. */
import { memoryStore } from "../../lib/store/memory.ts";
import type { Listed, ListOptions, Stored } from "../../lib/store/store.ts";
import type { AnyReads, AnyStore, AnyTx } from "./any_store.ts";
import type { Subject } from "./store_cases.ts";

/** Broken stores, each under the description of its fault. */
export type BrokenStores = Record<string, () => Subject>;

type Put = AnyTx["put"];
type Options = ListOptions<boolean>;
type Page = Stored[];

/** Creates a memory store with another `transact`. */
export function onTransact(wrap: (store: AnyStore) => AnyStore["transact"]): Subject {
  const store: AnyStore = memoryStore();
  return { store: { ...store, transact: wrap(store) } };
}

/** Replaces operations of transactions. */
export const onTx = (wrap: (tx: AnyTx, store: AnyStore) => Partial<AnyTx>): Subject =>
  onTransact((store) => (decide) => store.transact((tx) => decide({ ...tx, ...wrap(tx, store) })));

/** Replaces reads, in and out of transactions. */
export function onReads(wrap: (reads: AnyReads) => Partial<AnyReads>): Subject {
  const { store } = onTx(wrap);
  return { store: { ...store, ...wrap(store) } };
}

/** Replaces lists, in and out of transactions. */
export const onLists = (list: (reads: AnyReads, collection: string, options: Options) => Promise<Page>): Subject =>
  onReads((reads) => ({
    list: async <K extends boolean>(collection: string, options: ListOptions<K>) =>
      (await list(reads, collection, options)) as Listed<K, unknown>[],
  }));

/** Reads a page, without the difference between records and keys in its type. */
export const readPage = async (reads: AnyReads, collection: string, options: Options): Promise<Page> =>
  (await reads.list(collection, options)) as Page;

/** Replaces records as they are returned. */
export const onRecords = (change: (stored: Stored, collection: string) => Stored): Subject =>
  onReads(({ get, getMany, list }) => ({
    async get(collection, id) {
      const stored = await get(collection, id);
      return stored && change(stored, collection);
    },
    getMany: async (collection, ids) =>
      (await getMany(collection, ids)).map((stored) => stored && change(stored, collection)),
    list: async <K extends boolean>(collection: string, options: ListOptions<K>) =>
      (await list(collection, options)).map((row) =>
        options.keysOnly ? row : change(row as Stored, collection),
      ) as Listed<K, unknown>[],
  }));

/** Replaces the options of lists, or the pages they return. */
export const onPages = (
  changeOptions: (options: Options) => Options,
  changePage: (page: Page, options: Options) => Page = (page) => page,
): Subject =>
  onLists(async (reads, collection, options) =>
    changePage(await readPage(reads, collection, changeOptions(options)), options),
  );

/** Replaces puts. */
export const onPut = (wrap: (put: Put) => Put): Subject => onTx(({ put }) => ({ put: wrap(put) }));

/** Replaces values as they are put. */
export const onValues = (change: (value: unknown) => unknown): Subject =>
  onPut((put) => (collection, id, value, expected) => put(collection, id, change(value), expected));

/** Replaces every text in the values that are put. */
export const onTexts = (change: (text: string) => unknown): Subject => onValues((value) => mapTexts(value, change));

/** Replaces the members of the objects that are put. */
export const onMembers = (change: (members: object) => unknown): Subject =>
  onValues((value) => (isPlainObject(value) ? change(value) : value));

/** Returns whether a value is a plain object. */
const isPlainObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Replaces the collections and ids of all reads and writes. */
export function onKeys(replace: (collection: string, id: string) => [collection: string, id: string]): Subject {
  // A list has no id; the replaced collection must not depend on one.
  const replaceCollection = (collection: string) => replace(collection, "any")[0];
  const wrapReads = ({ get, getMany, list, texts }: AnyReads): AnyReads => ({
    get: (collection, id) => get(...replace(collection, id)),
    getMany: (collection, ids) =>
      getMany(
        replaceCollection(collection),
        ids.map((id) => replace(collection, id)[1]),
      ),
    list: (collection, options) => list(replaceCollection(collection), options),
    texts: (collection, which) => texts(replaceCollection(collection), which),
  });
  const { store } = onTx((tx) => ({
    ...wrapReads(tx),
    put: (collection, id, value, expected) => tx.put(...replace(collection, id), value, expected),
    delete: (collection, id, expected) => tx.delete(...replace(collection, id), expected),
  }));
  return { store: { ...store, ...wrapReads(store) } };
}

/** Replaces every text in a JSON value. */
export function mapTexts(value: unknown, change: (text: string) => unknown): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapTexts(member, change)]));
}
