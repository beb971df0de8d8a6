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
 * Maps `collection/id` to `[revision, value as JSON]`. The key `collection/` maps to the highest revision of the collection's
 * deleted records, without a value: the first revision of a new record is above it.
 */
export type Content = Record<string, [revision: number, value: string | undefined]>;

/** Returns the content after the writes of one more transaction. */
export function applyWrites(content: Content, writes: readonly Write[]): Content {
  const next = { ...content };
  const deletedRevisions = new Map<string, number>();
  for (const { collection, id, ...rest } of writes) {
    const key = `${collection}/${id}`;
    const lastRevision = next[key]?.[0] ?? deletedRevisions.get(key);
    if ("value" in rest) {
      next[key] = [(lastRevision ?? content[`${collection}/`]?.[0] ?? 0) + 1, JSON.stringify(rest.value)];
      deletedRevisions.delete(key);
    } else if (next[key]) {
      delete next[key];
      deletedRevisions.set(key, lastRevision!);
    }
  }
  for (const [key, revision] of deletedRevisions) {
    const collection = key.slice(0, key.indexOf("/") + 1);
    next[collection] = [Math.max(next[collection]?.[0] ?? 0, revision), undefined];
  }
  return next;
}

/** Adds writes to a transaction. */
export function addWrites(tx: AnyTx, writes: readonly Write[]): void {
  for (const { collection, id, ...rest } of writes)
    if ("value" in rest) tx.put(collection, id, rest.value);
    else tx.delete(collection, id);
}

/** Reads the records of some collections, and checks that `list` and `get` return the same. */
export async function readContent(store: AnyStore, collections: readonly string[]): Promise<Content> {
  const content: Content = {};
  for (const collection of collections) {
    let lastId: string | undefined;
    for (;;) {
      const page = await store.list(collection, { limit: 50, ...(lastId !== undefined && { after: lastId }) });
      for (const stored of page) {
        content[`${collection}/${stored.id}`] = [stored.revision, JSON.stringify(stored.value)];
        const single = await store.get(collection, stored.id);
        if (JSON.stringify(single) !== JSON.stringify(stored))
          throw new Error(`get and list differ on ${collection}/${stored.id}`);
      }
      lastId = page.at(-1)?.id;
      if (lastId === undefined) break;
    }
  }
  return content;
}

/** Returns the records of a content, without the revisions of deleted records. */
export const storedRecords = (content: Content): Content =>
  Object.fromEntries(Object.entries(content).filter(([, [, value]]) => value !== undefined));

/** Collections that `workloadWrites` writes to. */
export const COLLECTIONS = ["audit", "meta", "counts", "changes", "live"];

/**
 * Returns the writes of the n-th transaction (from 1) of a workload like the service's: an audit entry, the head, and changes. Nine
 * changes take turns, so that records are overwritten, and every tenth transaction deletes one.
 */
export function workloadWrites(n: number): Write[] {
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

/** Returns the content after each of the first `count` transactions of the workload; index 0 is empty. */
export function contentsOfWorkload(count: number): Content[] {
  const contents: Content[] = [{}];
  for (let n = 1; n <= count; n++) contents.push(applyWrites(contents[n - 1]!, workloadWrites(n)));
  return contents;
}

/** Returns a repeatable generator of numbers from 0 up to 1. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
