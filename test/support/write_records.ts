import type { Store, Tx } from "../../lib/store/store.ts";

const MAX_WRITES_PER_COMMIT = 50;

/** Writes one record for each item, in transactions of up to 50 writes. */
export async function writeRecords<T>(
  store: Store,
  items: readonly T[],
  write: (tx: Tx, item: T) => unknown,
): Promise<void> {
  for (let start = 0; start < items.length; start += MAX_WRITES_PER_COMMIT)
    await store.transact(
      (tx) => void items.slice(start, start + MAX_WRITES_PER_COMMIT).forEach((item) => write(tx, item)),
    );
}
