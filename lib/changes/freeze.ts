/** Reads the freeze of the service, and finds the conditions that block an apply now. */
import type { ChangesDeps } from "./deps.ts";
import { parseFreeze } from "./latest_from_log.ts";
import { type Freeze, freezeSchema } from "./rules/freeze.ts";
import { findActiveFreeze } from "./rules/current_state.ts";
import { type Hold, listHolds } from "./rules/hold.ts";
import type { ChangeEntry } from "./rules/list_entries.ts";
import { hasScope } from "./rules/windows.ts";
import type { Transaction } from "./transaction.ts";

declare module "../store/store.ts" {
  interface Meta {
    freeze: Freeze;
  }
}

/** Finds the last freeze in the log, unless it was lifted. The store has the id of a freeze before the indexed part of the log. */
export async function findLastFreeze({ tx, evidence, indexedAfter }: Transaction): Promise<Freeze | undefined> {
  const indexed = await evidence.lastEntryOfType("service_frozen", "service_unfrozen");
  const stored = (await tx.get("meta", "freeze"))?.value;
  const isBeforeIndex = stored !== undefined && stored.entry <= indexedAfter();
  const last = indexed ?? (isBeforeIndex ? await evidence.entry(stored.entry) : undefined);
  return last?.event_type === "service_frozen" ? parseFreeze(last) : undefined;
}

/** Lists what blocks the apply of a change; without a change, what blocks every apply. */
export type FindHolds = (change?: ChangeEntry) => Hold[];

/** Creates a function that lists what blocks an apply now; the freeze is read once for all changes. */
export async function createHoldFinder({ store, product, clock }: ChangesDeps): Promise<FindHolds> {
  const { policy } = product!.intent;
  const freeze = (await store.get("meta", "freeze"))?.value;
  const now = clock.now();
  // Without windows that are limited to some changes, the holds of all changes are the same.
  const holdsOfAll = policy.windows.deny.some(hasScope) ? undefined : listHolds(policy, freeze, now);
  return (change) => holdsOfAll ?? listHolds(policy, freeze, now, change);
}

/** Reads the freeze in force, for display; null if there is none. */
export async function readFreezeInForce({ store, clock }: Pick<ChangesDeps, "store" | "clock">) {
  const freeze = findActiveFreeze((await store.get("meta", "freeze"))?.value, clock.now());
  return freeze ? freezeSchema().parse(freeze) : null;
}
