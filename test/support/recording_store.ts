import type { Store, Tx } from "../../lib/store/store.ts";

/** Keys that one transaction wrote, in order; the keys of deletes begin with a minus. */
export type WrittenKeys = string[];

/** Wraps a store and records the keys that each committed transaction wrote, if any. */
export function recordingStore(store: Store): { store: Store; take(): WrittenKeys[] } {
  let transactions: WrittenKeys[] = [];
  const transact: Store["transact"] = async (decide) => {
    let written: WrittenKeys = [];
    const result = await store.transact((tx) => {
      written = [];
      const recording: Tx = {
        ...tx,
        put: (collection, id, value, expected) => {
          written.push(`${collection}/${id}`);
          tx.put(collection, id, value, expected);
        },
        delete: (collection, id, expected) => {
          written.push(`-${collection}/${id}`);
          tx.delete(collection, id, expected);
        },
      };
      return decide(recording);
    });
    if (written.length > 0) transactions.push(written);
    return result;
  };
  return {
    store: { ...store, transact },
    /** Returns the writes since the last call. */
    take() {
      const taken = transactions;
      transactions = [];
      return taken;
    },
  };
}
