/** Reads the counts of entries and of outcomes together. */
import type { Window } from "../kit/days.ts";
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
export async function readDailyCounts(deps: ProjectionDeps, window: Window): Promise<Map<string, Counts>> {
  const [ofEntries, ofOutcomes] = await readBoth(deps);
  const days = new Map(await listDays(ofEntries, "tally_days", window));
  for (const [day, closed] of await listDays(ofOutcomes, "closing_days", window))
    days.set(day, sumCounts([days.get(day) ?? {}, closed]));
  return days;
}

/** Reads the counts within a window and within its last part. */
export async function readCountsWithin(deps: ProjectionDeps, window: Window, part: Window): Promise<Counts[]> {
  const days = await readDailyCounts(deps, window);
  return [window, part].map((one) => sumWindow(days, one));
}
