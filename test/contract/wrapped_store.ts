/** Ways to wrap a store that keeps the contract so that it breaks one promise of it. */
import { memoryStore } from "../../lib/store/memory.ts";
import type { ListOptions, Store, Stored, Tx } from "../../lib/store/store.ts";
import type { Subject } from "./store_contract.ts";

/** Broken stores by what is wrong with them. */
export type BrokenStores = Record<string, () => Subject>;

type Reads = Pick<Tx, "get" | "list">;
type Put = Tx["put"];

/** Replaces `transact`. */
export function onTransact(wrap: (store: Store) => Store["transact"]): Subject {
  const store = memoryStore();
  return { store: { ...store, transact: wrap(store) } };
}

/** Replaces what transactions can do. */
export const onTx = (wrap: (tx: Tx, store: Store) => Partial<Tx>): Subject =>
  onTransact((store) => (decide) => store.transact((tx) => decide({ ...tx, ...wrap(tx, store) })));

/** Replaces reads, in and out of transactions. */
export function onReads(wrap: (reads: Reads) => Partial<Reads>): Subject {
  const { store } = onTx(wrap);
  return { store: { ...store, ...wrap(store) } };
}

/** Replaces records as they are handed out. */
export const onRecords = (change: (stored: Stored, collection: string) => Stored): Subject =>
  onReads(({ get, list }) => ({
    async get<T>(collection: string, id: string) {
      const stored = await get(collection, id);
      return stored && (change(stored, collection) as Stored<T>);
    },
    list: async <T>(collection: string, options: ListOptions) =>
      (await list(collection, options)).map((stored) => change(stored, collection)) as Stored<T>[],
  }));

/** Replaces what lists are asked for, or the page they give. */
export const onPages = (
  ask: (options: ListOptions) => ListOptions,
  turn: (page: Stored[], options: ListOptions) => Stored[] = (page) => page,
): Subject =>
  onReads(({ list }) => ({
    list: async <T>(collection: string, options: ListOptions) =>
      turn(await list(collection, ask(options)), options) as Stored<T>[],
  }));

/** Replaces puts. */
export const onPut = (wrap: (put: Put) => Put): Subject => onTx(({ put }) => ({ put: wrap(put) }));

/** Replaces values as they are put. */
export const onValues = (change: (value: unknown) => unknown): Subject =>
  onPut((put) => (collection, id, value, expected) => put(collection, id, change(value), expected));

/** Replaces every text in the values that are put. */
export const onTexts = (change: (text: string) => unknown): Subject => onValues((value) => mapTexts(value, change));

/** Replaces the members of the objects that are put. */
export const onMembers = (change: (members: object) => unknown): Subject =>
  onValues((value) => (typeof value === "object" && value && !Array.isArray(value) ? change(value) : value));

/** Replaces collections and ids, on every way in. */
export function onKeys(key: (collection: string, id: string) => [collection: string, id: string]): Subject {
  const reads = ({ get, list }: Reads): Reads => ({
    get: <T>(collection: string, id: string) => get<T>(...key(collection, id)),
    list: <T>(collection: string, options: ListOptions) => list<T>(key(collection, "any")[0], options),
  });
  const { store } = onTx((tx) => ({
    ...reads(tx),
    put: (collection, id, value, expected) => tx.put(...key(collection, id), value, expected),
    delete: (collection, id, expected) => tx.delete(...key(collection, id), expected),
  }));
  return { store: { ...store, ...reads(store) } };
}

/** Every text in a JSON value replaced. */
export function mapTexts(value: unknown, change: (text: string) => unknown): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapTexts(member, change)]));
}
