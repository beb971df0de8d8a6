/** The store contract as named cases that any test runner can run on any store. */
import type { AnyStore } from "./any_store.ts";
import { pageCases } from "./store_pages.ts";
import { recordCases } from "./store_records.ts";
import { transactionCases } from "./store_transactions.ts";

/** A new, empty store, with optional helpers that only some stores can provide. */
export interface Subject {
  store: AnyStore;
  /** Closes the store and opens it again with its stored data. */
  reopen?(): Promise<AnyStore>;
  /** Opens the same records a second time, as another process would. */
  another?(): Promise<AnyStore>;
  /** Keeps commits from becoming durable until the returned function is called. */
  stall?(): () => void;
  /** Returns the number of syncs, or of round trips that commit, so far. */
  syncs?(): number;
  /** Removes the files and connections of the store. */
  dispose?(): Promise<void>;
}

/** One rule of the contract. A case is skipped for a subject without the helper in `needs`. */
export interface StoreCase {
  name: string;
  needs?: "another" | "reopen" | "stall" | "syncs";
  run(subject: Subject): Promise<void>;
}

export const storeCases: readonly StoreCase[] = [...recordCases, ...pageCases, ...transactionCases];

/** Runs one case on a fresh subject. */
export async function runCase(storeCase: StoreCase, make: () => Promise<Subject>): Promise<void> {
  const subject = await make();
  try {
    await storeCase.run(subject);
  } finally {
    await subject.store.close().catch(() => undefined);
    await subject.dispose?.();
  }
}
