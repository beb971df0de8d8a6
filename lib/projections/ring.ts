/** A bounded collection under numbers that rise: the oldest records go first. */
import type { Collection, RecordOf, Stored, Tx } from "../store/store.ts";

/** Where it stands. */
export interface Ring {
  /** The newest number, 0 before the first. */
  seq: number;
  /** How many records are kept. */
  count: number;
}

/** A record's id: 16 digits, so that ids sort as numbers do. */
export const ringKey = (seq: number): string => String(seq).padStart(16, "0");

/** The first number of what is told of a place in the log, which is its length then; each has room for a million. */
export const seqAt = (position: number): number => position * 1_000_000;

/** Adds a record under the next number, `least` at least, and resolves with the ring then; `gone` sees what had to go. */
export async function push<C extends Collection>(
  tx: Tx,
  collection: C,
  ring: Ring | undefined,
  record: (seq: number) => RecordOf<C>,
  { most, least = 1, gone }: { most: number; least?: number; gone?: (oldest: Stored<RecordOf<C>>) => void },
): Promise<Ring> {
  const seq = Math.max((ring?.seq ?? 0) + 1, least);
  const count = (ring?.count ?? 0) + 1;
  tx.put(collection, ringKey(seq), record(seq));
  if (count <= most) return { seq, count };
  const limit = count - most;
  const oldest = gone ? await tx.list(collection, { limit }) : [];
  const ids = gone ? oldest : await tx.list(collection, { limit, keysOnly: true });
  for (const { id } of ids) tx.delete(collection, id);
  oldest.forEach((row) => gone?.(row));
  return { seq, count: count - ids.length };
}
