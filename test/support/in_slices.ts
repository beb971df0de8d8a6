import type { Store, Tx } from "../../lib/store/store.ts";

const MOST_WRITES = 50;

/** Writes one record for each item, in transactions of as many writes as one may hold. */
export async function inSlices<T>(
  store: Store,
  items: readonly T[],
  write: (tx: Tx, item: T) => unknown,
): Promise<void> {
  for (let start = 0; start < items.length; start += MOST_WRITES)
    await store.transact((tx) => void items.slice(start, start + MOST_WRITES).forEach((item) => write(tx, item)));
}
