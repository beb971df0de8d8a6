/** A bounded collection of numbered records; the oldest are removed first. */
import type { Collection, CollectionRecord, Stored, Tx } from "../store/store.ts";

/** The state of such a collection. */
export interface BufferState {
  /** The newest number, 0 before the first. */
  seq: number;
  /** Number of stored records. */
  count: number;
}

/** Returns the id of a record: 16 digits, so that ids sort as numbers do. */
export const sequenceKey = (seq: number): string => String(seq).padStart(16, "0");

/** Returns the first number for a position of the log; each position has room for a million. */
export const firstSequence = (position: number): number => position * 1_000_000;

/**
 * Adds a record under the next number, which is `minSequence` or higher, and resolves with the new state. `onRemove` is called with
 * each record that is removed for it.
 */
export async function appendRecord<C extends Collection>(
  tx: Tx,
  collection: C,
  buffer: BufferState | undefined,
  createRecord: (seq: number) => CollectionRecord<C>,
  {
    maxCount,
    minSequence = 1,
    onRemove,
  }: { maxCount: number; minSequence?: number; onRemove?: (oldest: Stored<CollectionRecord<C>>) => void },
): Promise<BufferState> {
  const seq = Math.max((buffer?.seq ?? 0) + 1, minSequence);
  const count = (buffer?.count ?? 0) + 1;
  tx.put(collection, sequenceKey(seq), createRecord(seq));
  if (count <= maxCount) return { seq, count };
  const limit = count - maxCount;
  const oldest = onRemove ? await tx.list(collection, { limit }) : [];
  const ids = onRemove ? oldest : await tx.list(collection, { limit, keysOnly: true });
  for (const { id } of ids) tx.delete(collection, id);
  oldest.forEach((row) => onRemove?.(row));
  return { seq, count: count - ids.length };
}
