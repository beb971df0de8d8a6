import type { Store, Tx } from "../../lib/store/store.ts";

/** Calls `write` for each index below `count`, in transactions that stay below the limit of 50 writes. */
export async function writeInBatches(
  store: Store,
  count: number,
  write: (tx: Tx, index: number) => unknown,
  writesEach = 5,
): Promise<void> {
  const size = Math.floor(50 / writesEach);
  for (let start = 0; start < count; start += size)
    await store.transact(async (tx) => {
      for (let index = start; index < Math.min(count, start + size); index++) await write(tx, index);
    });
}
