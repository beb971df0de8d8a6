/** A bounded collection under rising numbers: the oldest records are removed first. */
import type { Collection, CollectionRecord, Stored, Tx } from "../store/store.ts";

/** The bounds of a collection. */
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

/** Adds a record under the next number, at least `least`, and resolves with the bounds; `removed` gets the oldest that it replaces. */
export async function push<C extends Collection>(
  tx: Tx,
  collection: C,
  buffer: BufferState | undefined,
  record: (seq: number) => CollectionRecord<C>,
  {
    most,
    least = 1,
    removed,
  }: { most: number; least?: number; removed?: (oldest: Stored<CollectionRecord<C>>) => void },
): Promise<BufferState> {
  const seq = Math.max((buffer?.seq ?? 0) + 1, least);
  const count = (buffer?.count ?? 0) + 1;
  tx.put(collection, sequenceKey(seq), record(seq));
  if (count <= most) return { seq, count };
  const limit = count - most;
  const oldest = removed ? await tx.list(collection, { limit }) : [];
  const ids = removed ? oldest : await tx.list(collection, { limit, keysOnly: true });
  for (const { id } of ids) tx.delete(collection, id);
  oldest.forEach((row) => removed?.(row));
  return { seq, count: count - ids.length };
}
