/** A store whose commits fail when a test wants, and its contents before and after. */
import { type Store, StoreUnavailable } from "../../lib/store/store.ts";
import type { AnyStore } from "../contract/any_store.ts";

/** A store whose commits a test can make fail. */
export interface FailingStore extends Store {
  /** Makes every transaction fail after its decision, by default with `StoreUnavailable`, until `recover` is called. */
  fail(failure?: () => Error): void;
  recover(): void;
}

/** Wraps a store; reads succeed while commits fail. */
export function failingStore(store: Store): FailingStore {
  let failure: (() => Error) | undefined;
  return {
    ...store,
    transact: (decide) =>
      store.transact(async (tx) => {
        const result = await decide(tx);
        if (failure) throw failure();
        return result;
      }),
    fail: (makeError = () => new StoreUnavailable("no space left on device: /data/state.journal.jsonl")) =>
      void (failure = makeError),
    recover: () => void (failure = undefined),
  };
}

/** Returns the records of the collections of COLLECTIONS, for a comparison of the store before and after a failure. */
export async function contents(store: AnyStore): Promise<Record<string, unknown[]>> {
  const records: Record<string, unknown[]> = {};
  for (const collection of COLLECTIONS) {
    const page = await store.list(collection, { limit: 100_000 });
    if (page.length > 0) records[collection] = page;
  }
  return records;
}

const COLLECTIONS = [
  "audit",
  "changes",
  "counts",
  "drift",
  "guardrail_due",
  "guardrail_marks",
  "idempotency",
  "kpi",
  "kpi_applied",
  "leases",
  "live_by_target",
  "llm_drafted",
  "llm_drafts",
  "manifests",
  "meta",
  "owners",
];
