import { type Store, StoreUnavailable } from "../../lib/store/store.ts";
import type { AnyStore } from "../contract/any_store.ts";

/** A real store whose disk can be taken away. */
export interface FailingStore extends Store {
  /** From now on every transaction runs its decision and then cannot be written. */
  fail(failure?: () => Error): void;
  mend(): void;
}

/** Wraps a store; reads go on while writes fail. */
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
    fail: (made = () => new StoreUnavailable("no space left on device: /data/state.journal.jsonl")) =>
      void (failure = made),
    mend: () => void (failure = undefined),
  };
}

/** Everything a store holds, for "nothing changed". */
export async function contents(store: AnyStore): Promise<Record<string, unknown[]>> {
  const kept: Record<string, unknown[]> = {};
  for (const collection of COLLECTIONS) {
    const records = await store.list(collection, { limit: 100_000 });
    if (records.length > 0) kept[collection] = records;
  }
  return kept;
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
