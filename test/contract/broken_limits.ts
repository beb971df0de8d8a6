import type { AnyTx } from "./any_store.ts";
import type { Subject } from "./store_cases.ts";
import { type BrokenStores, onTransact } from "./wrapped_store.ts";

/** A recorded put or delete. */
interface Made {
  collection: string;
  id: string;
  /** Absent for a delete. */
  value?: unknown;
  make(tx: AnyTx): void;
}

/** Records the writes of a decision, and commits them in parts afterwards. */
const inParts = (split: (writes: readonly Made[]) => readonly (readonly Made[])[]): Subject =>
  onTransact((store) => async (decide) => {
    const writes: Made[] = [];
    const result = await store.transact((tx) =>
      decide({
        ...tx,
        put: (collection, id, value, expected) =>
          void writes.push({ collection, id, value, make: (own) => own.put(collection, id, value, expected) }),
        delete: (collection, id, expected) =>
          void writes.push({ collection, id, make: (own) => own.delete(collection, id, expected) }),
      }),
    );
    for (const part of split(writes)) await store.transact((tx) => part.forEach(({ make }) => make(tx)));
    return result;
  });

const isDelete = ({ value }: Made): boolean => value === undefined;
const latest = (writes: readonly Made[]): Made[] => [
  ...new Map(writes.map((write) => [`${write.collection}/${write.id}`, write])).values(),
];
const charactersOf = (writes: readonly Made[]): number =>
  writes.reduce((sum, { value }) => sum + (JSON.stringify(value) ?? "").length, 0);
const bytesOf = (writes: readonly Made[]): number =>
  latest(writes).reduce((sum, { value }) => sum + new TextEncoder().encode(JSON.stringify(value) ?? "").length, 0);

function chunks(writes: readonly Made[], size: number): Made[][] {
  return Array.from({ length: Math.ceil(writes.length / size) }, (_, n) => writes.slice(n * size, n * size + size));
}

/** Creates a store that rejects decisions within the limits. */
const refusingMore = (count: (writes: readonly Made[]) => number, most: number): Subject =>
  inParts((writes) => {
    if (count(writes) > most) throw new RangeError(`${count(writes)} is too much`);
    return [writes];
  });

/** Stores with a wrong limit on writes, by the name of the case that each must fail. */
export const brokenLimits: Record<string, BrokenStores> = {
  "a decision may write 99 records, counting each record once, deletes included": {
    "a delete counts twice": () => refusingMore((writes) => writes.length + writes.filter(isDelete).length, 99),
    "every put of a record counts": () => refusingMore((writes) => writes.length, 99),
    "98 writes are the most": () => refusingMore((writes) => latest(writes).length, 98),
  },
  "more than 99 writes are all rejected, with a RangeError that has their number": {
    "a large decision is committed in parts": () => inParts((writes) => chunks(writes, 99)),
    "deletes are not counted": () =>
      inParts((writes) => [writes.filter((write) => !isDelete(write)), ...chunks(writes.filter(isDelete), 99)]),
    "too much is refused without a number": () =>
      onTransact(
        (store) => (decide) =>
          store.transact(decide).catch((error: unknown) => {
            throw error instanceof RangeError ? new RangeError("too much") : error;
          }),
      ),
  },
  "more than 1,000,000 bytes of JSON are rejected, with a RangeError that has their number": {
    "text is counted in characters": () =>
      inParts((writes) => (charactersOf(writes) > 1_000_000 ? [writes] : chunks(writes, 1))),
    "999,999 bytes are the most": () => refusingMore(bytesOf, 999_999),
  },
};
