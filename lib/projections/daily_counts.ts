/** Reads the counts of entries and of outcomes together. */
import type { Window } from "../kit/days.ts";
import type { Reads } from "../store/store.ts";
import { type Counts, counts, listDays, sumCounts, sumWindow } from "./counts.ts";
import { outcomes } from "./outcomes.ts";
import type { ProjectionDeps } from "./projection.ts";
import { readProjection } from "./snapshot.ts";

const readBoth = (deps: ProjectionDeps) => Promise.all([readProjection(deps, counts), readProjection(deps, outcomes)]);

/** Reads the counts since the log began. */
export async function readTotalCounts(deps: ProjectionDeps): Promise<Counts> {
  return sumCounts((await readBoth(deps)).map(({ state }) => state.total));
}

/** Reads the counts of each day of a window; a day without any is absent. */
export async function readDailyCounts(deps: ProjectionDeps, window: Window): Promise<ReadonlyMap<string, Counts>> {
  return mergeDays(await readBoth(deps), window);
}

async function mergeDays([entryCounts, outcomeCounts]: readonly Reads[], window: Window): Promise<Map<string, Counts>> {
  const days = new Map(await listDays(entryCounts!, "tally_days", window));
  for (const [day, closed] of await listDays(outcomeCounts!, "closing_days", window))
    days.set(day, sumCounts([days.get(day) ?? {}, closed]));
  return days;
}

/** Cached sums. The key is the total of outcomes, which is a new object after each count. */
const cache = new WeakMap<Counts, { total: Counts; name: string; sums: Promise<Counts[]> }>();

/** Reads the counts within a window and within its last part; cached until anything is counted. */
export async function readCountsWithin(deps: ProjectionDeps, window: Window, part: Window): Promise<Counts[]> {
  const both = await readBoth(deps);
  const [{ state: entryState }, { state: outcomeState }] = both;
  const name = window.from + part.from + part.to;
  let cached = cache.get(outcomeState.total);
  if (cached?.name !== name || cached.total !== entryState.total) {
    const sums = mergeDays(both, window).then((days) => [window, part].map((dates) => sumWindow(days, dates)));
    cache.set(outcomeState.total, (cached = { total: entryState.total, name, sums }));
    // A failure is not cached; the caller gets it from `sums`.
    sums.catch(() => cache.delete(outcomeState.total));
  }
  return cached.sums;
}
