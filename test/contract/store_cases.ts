/** Promises of every store, as named cases that any test runner can run, on any store. */
import type { AnyStore } from "./any_store.ts";
import { pageCases } from "./store_pages.ts";
import { recordCases } from "./store_records.ts";
import { transactionCases } from "./store_transactions.ts";

/** A fresh, empty store, and what its engine lets a test do with it. */
export interface Subject {
  store: AnyStore;
  /** Closes the store and opens what it kept. */
  reopen?(): Promise<AnyStore>;
  /** Opens the same records once more, as another process does that shares them. */
  another?(): Promise<AnyStore>;
  /** Keeps commits from becoming durable until the function it gives is called. */
  stall?(): () => void;
  /** How many syncs, or round trips that commit, there have been. */
  syncs?(): number;
  /** Removes what the store left behind. */
  dispose?(): Promise<void>;
}

/** One promise. A case that needs what a subject cannot do is not run on it. */
export interface StoreCase {
  name: string;
  needs?: "another" | "reopen" | "stall" | "syncs";
  run(subject: Subject): Promise<void>;
}

/** All cases. */
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
