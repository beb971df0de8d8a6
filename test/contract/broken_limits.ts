/** Stores with wrong limits, which the contract must find. */
import type { AnyTx } from "./any_store.ts";
import type { Subject } from "./store_cases.ts";
import { type BrokenStores, onTransact } from "./wrapped_store.ts";

/** A recorded put or delete. */
interface RecordedWrite {
  collection: string;
  id: string;
  /** Absent for a delete. */
  value?: unknown;
  execute(tx: AnyTx): void;
}

/** Records the writes of a decision, and commits them in parts afterwards. */
const commitInParts = (split: (writes: readonly RecordedWrite[]) => readonly (readonly RecordedWrite[])[]): Subject =>
  onTransact((store) => async (decide) => {
    const writes: RecordedWrite[] = [];
    const result = await store.transact((tx) =>
      decide({
        ...tx,
        put: (collection, id, value, expected) =>
          void writes.push({ collection, id, value, execute: (own) => own.put(collection, id, value, expected) }),
        delete: (collection, id, expected) =>
          void writes.push({ collection, id, execute: (own) => own.delete(collection, id, expected) }),
      }),
    );
    for (const part of split(writes)) await store.transact((tx) => part.forEach(({ execute }) => execute(tx)));
    return result;
  });

const isDelete = ({ value }: RecordedWrite): boolean => value === undefined;
const latestWrites = (writes: readonly RecordedWrite[]): RecordedWrite[] => [
  ...new Map(writes.map((write) => [`${write.collection}/${write.id}`, write])).values(),
];
const countCharacters = (writes: readonly RecordedWrite[]): number =>
  writes.reduce((sum, { value }) => sum + (JSON.stringify(value) ?? "").length, 0);
const countBytes = (writes: readonly RecordedWrite[]): number =>
  latestWrites(writes).reduce(
    (sum, { value }) => sum + new TextEncoder().encode(JSON.stringify(value) ?? "").length,
    0,
  );

function chunks(writes: readonly RecordedWrite[], size: number): RecordedWrite[][] {
  return Array.from({ length: Math.ceil(writes.length / size) }, (_, n) => writes.slice(n * size, n * size + size));
}

/** Creates a store that rejects decisions whose writes, counted by `count`, are above a wrong limit. */
const rejectAbove = (count: (writes: readonly RecordedWrite[]) => number, limit: number): Subject =>
  commitInParts((writes) => {
    if (count(writes) > limit) throw new RangeError(`${count(writes)} is too much`);
    return [writes];
  });

/** Stores with a wrong limit on writes, by the name of the case that each must fail. */
export const brokenLimits: Record<string, BrokenStores> = {
  "a decision may write 99 records, counting each record once, deletes included": {
    "a delete counts twice": () => rejectAbove((writes) => writes.length + writes.filter(isDelete).length, 99),
    "each put of the same record counts": () => rejectAbove((writes) => writes.length, 99),
    "the limit is 98 writes": () => rejectAbove((writes) => latestWrites(writes).length, 98),
  },
  "more than 99 writes are all rejected, with a RangeError that has their number": {
    "a large decision is committed in parts": () => commitInParts((writes) => chunks(writes, 99)),
    "deletes are not counted": () =>
      commitInParts((writes) => [writes.filter((write) => !isDelete(write)), ...chunks(writes.filter(isDelete), 99)]),
    "the error has no number": () =>
      onTransact(
        (store) => (decide) =>
          store.transact(decide).catch((error: unknown) => {
            throw error instanceof RangeError ? new RangeError("too much") : error;
          }),
      ),
  },
  "more than 1,000,000 bytes of JSON are rejected, with a RangeError that has their number": {
    // Within the wrong limit each write is committed by itself, below the limit of the memory store.
    "text is counted in characters": () =>
      commitInParts((writes) => (countCharacters(writes) > 1_000_000 ? [writes] : chunks(writes, 1))),
    "the limit is 999,999 bytes": () => rejectAbove(countBytes, 999_999),
  },
};
