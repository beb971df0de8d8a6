/** The expected content of a store in its simplest form, to compare a real store with. */
import { sequenceId } from "../../../lib/store/collections.ts";
import type { AnyStore, AnyTx } from "../../contract/any_store.ts";

/** One write of a transaction; without a value it is a deletion. */
export interface Write {
  collection: string;
  id: string;
  value?: unknown;
}

/**
 * Every record as `collection/id` to `[revision, value as JSON]`. Under `collection/` stands the highest revision of what was
 * deleted in it, without a value: a new record begins above that.
 */
export type Content = Record<string, [revision: number, value: string | undefined]>;

/** The content after the writes of one more transaction. */
export function after(content: Content, writes: readonly Write[]): Content {
  const next = { ...content };
  const gone = new Map<string, number>();
  for (const { collection, id, ...rest } of writes) {
    const key = `${collection}/${id}`;
    const last = next[key]?.[0] ?? gone.get(key);
    if ("value" in rest) {
      next[key] = [(last ?? content[`${collection}/`]?.[0] ?? 0) + 1, JSON.stringify(rest.value)];
      gone.delete(key);
    } else if (next[key]) {
      delete next[key];
      gone.set(key, last!);
    }
  }
  for (const [key, revision] of gone) {
    const collection = key.slice(0, key.indexOf("/") + 1);
    next[collection] = [Math.max(next[collection]?.[0] ?? 0, revision), undefined];
  }
  return next;
}

/** Makes the writes in a transaction. */
export function perform(tx: AnyTx, writes: readonly Write[]): void {
  for (const { collection, id, ...rest } of writes)
    if ("value" in rest) tx.put(collection, id, rest.value);
    else tx.delete(collection, id);
}

/** Lists these collections as the live part of a content, and checks each page against `get`. */
export async function readContent(store: AnyStore, collections: readonly string[]): Promise<Content> {
  const content: Content = {};
  for (const collection of collections) {
    let last: string | undefined;
    for (;;) {
      const page = await store.list(collection, { limit: 50, ...(last !== undefined && { after: last }) });
      for (const stored of page) {
        content[`${collection}/${stored.id}`] = [stored.revision, JSON.stringify(stored.value)];
        const got = await store.get(collection, stored.id);
        if (JSON.stringify(got) !== JSON.stringify(stored))
          throw new Error(`get and list differ on ${collection}/${stored.id}`);
      }
      last = page.at(-1)?.id;
      if (last === undefined) break;
    }
  }
  return content;
}

/** The records of a content that are not deleted. */
export const live = (content: Content): Content =>
  Object.fromEntries(Object.entries(content).filter(([, [, value]]) => value !== undefined));

/** Collections that `workload` writes to. */
export const COLLECTIONS = ["audit", "meta", "counts", "changes", "live"];

/** The writes of the n-th transaction (from 1) of a workload like the service's own: an entry, a head, changes, views. */
export function workload(n: number): Write[] {
  const change = `chg_${String(n % 9).padStart(3, "0")}`;
  const state = ["pending", "approved", "applied"];
  const writes: Write[] = [
    { collection: "audit", id: sequenceId(n), value: { id: n, detail: `é${"x".repeat((n * 37) % 120)}` } },
    { collection: "changes", id: change, value: { step: n, note: "n".repeat((n * 53) % 200) } },
    { collection: "live", id: `${state[n % 3]}/${change}`, value: true },
    { collection: "live", id: `${state[(n + 1) % 3]}/${change}` },
    { collection: "meta", id: "chain", value: { length: n } },
  ];
  if (n % 4 === 0) writes.push({ collection: "counts", id: `day-${n % 3}`, value: n });
  if (n % 10 === 9) writes.push({ collection: "changes", id: `chg_${String((n * 7) % 9).padStart(3, "0")}` });
  return writes;
}

/** The content after each of the first `count` transactions of the workload, and before them at index 0. */
export function history(count: number): Content[] {
  const contents: Content[] = [{}];
  for (let n = 1; n <= count; n++) contents.push(after(contents[n - 1]!, workload(n)));
  return contents;
}

/** A repeatable source of numbers from 0 up to 1. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
