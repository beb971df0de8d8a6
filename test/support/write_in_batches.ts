/** Writes of a test that are too many for one transaction. */
import type { Store, Tx } from "../../lib/store/store.ts";

const MAX_WRITES_PER_COMMIT = 50;

/** Calls `write`, which makes at most `writesPerCall` writes, for each index below `count`, in transactions of at most 50 writes. */
export async function writeInBatches(
  store: Store,
  count: number,
  write: (tx: Tx, index: number) => unknown,
  writesPerCall = 5,
): Promise<void> {
  const callsPerCommit = Math.floor(MAX_WRITES_PER_COMMIT / writesPerCall);
  for (let start = 0; start < count; start += callsPerCommit)
    await store.transact(async (tx) => {
      for (let index = start; index < Math.min(count, start + callsPerCommit); index++) await write(tx, index);
    });
}
