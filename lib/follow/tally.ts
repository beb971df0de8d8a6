/**
 * Daily buckets: what happened, counted in the same transaction that made it happen, so that no figure needs a scan.
 * `tally_days/<UTC day>` and, over all time, `tally/total`. Everything here can be counted anew from the records.
 */
import type { Store, Tx } from "../store/store.ts";
import { DAY_MS, dayOf, daysOf, type Window } from "../kit/days.ts";

declare module "../store/store.ts" {
  interface Collections {
    tally: Singles<Tallies>;
    tally_days: Tally;
  }
}

/** `tally/<name>` */
export interface Tallies {
  total: Tally;
}

/** What is counted; `attempts_*` on the day of the apply, everything else on its own day. */
export const COUNTERS = [
  "attempts",
  "attempts_failed",
  "attempts_apply_failed",
  "attempts_rolled_back",
  "attempts_drifted",
  "closed",
  "expected_items",
  "present_items",
  "missing_rationale",
  "missing_decider",
  "missing_note",
  "missing_verdict",
  "verdict_met",
  "verdict_missed",
  "verdict_regressed",
  "verdict_inconclusive",
  "decided_approved",
  "decided_denied",
  "decided_withdrawn",
  "decided_expired",
  "decided_minor",
  "level_L1",
  "level_L2",
  "level_L3",
  "level_L4",
  "level_L5",
  "rollbacks_person",
  "rollbacks_guardrail",
  "rollbacks_failed",
  "drift_episodes",
  "kpi_feeds",
] as const;
export type Counter = (typeof COUNTERS)[number];

/** A count that is absent is 0. */
export type Tally = Partial<Record<Counter, number>>;

/** How many daily buckets are kept. */
export const DAYS_KEPT = 400;

/** Counts something on a day. */
export async function bump(tx: Tx, day: string, by: Tally): Promise<void> {
  const [ofDay, total] = await Promise.all([tx.get("tally_days", day), tx.get("tally", "total")]);
  tx.put("tally_days", day, sum([ofDay?.value ?? {}, by]));
  tx.put("tally", "total", sum([total?.value ?? {}, by]));
}

/** The counts of several tallies together. */
export function sum(tallies: readonly Tally[]): Tally {
  const all: Tally = {};
  for (const tally of tallies)
    for (const counter of Object.keys(tally) as Counter[]) all[counter] = (all[counter] ?? 0) + tally[counter]!;
  return all;
}

/** What happened since the service began. */
export const totalTally = async (store: Pick<Store, "get">): Promise<Tally> =>
  (await store.get("tally", "total"))?.value ?? {};

/** The buckets of a window, by day; a day on which nothing happened has none. */
export async function tallyDays(store: Pick<Store, "list">, window: Window): Promise<Map<string, Tally>> {
  const after = dayOf(Date.parse(window.from) - DAY_MS);
  const page = await store.list("tally_days", { after, limit: daysOf(window).length });
  return new Map(page.filter(({ id }) => id <= window.to).map(({ id, value }) => [id, value]));
}

/** What happened within a window, out of its buckets or those of a longer one. */
export const sumWithin = (days: ReadonlyMap<string, Tally>, { from, to }: Window): Tally =>
  sum([...days].filter(([day]) => day >= from && day <= to).map(([, tally]) => tally));

/** Deletes the oldest buckets beyond those kept, a few at a time. */
export async function forgetOldDays(tx: Tx, oldestKept: string): Promise<void> {
  const oldest = await tx.list("tally_days", { limit: 10 });
  for (const { id } of oldest) if (id < oldestKept) tx.delete("tally_days", id);
}
