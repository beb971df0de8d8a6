/** What happened, of what entries and what outcomes are counted by. */
import type { Window } from "../kit/days.ts";
import type { Reads } from "../store/store.ts";
import type { FollowDeps } from "./follower.ts";
import { outcomes } from "./outcomes.ts";
import { reading } from "./reading.ts";
import { bucketsOf, sum, sumWithin, type Tally, tally } from "./tally.ts";

const readings = (deps: FollowDeps) => Promise.all([reading(deps, tally), reading(deps, outcomes)]);

/** What happened since the log began. */
export async function totalTally(deps: FollowDeps): Promise<Tally> {
  return sum((await readings(deps)).map(({ state }) => state.total));
}

/** What happened on each day of a window; a day on which nothing did is left out. */
export async function tallyDays(deps: FollowDeps, window: Window): Promise<ReadonlyMap<string, Tally>> {
  return daysOf(await readings(deps), window);
}

async function daysOf([ofEntries, ofOutcomes]: readonly [Reads, Reads], window: Window): Promise<Map<string, Tally>> {
  const days = new Map(await bucketsOf(ofEntries, "tally_days", window));
  for (const [day, closed] of await bucketsOf(ofOutcomes, "closing_days", window))
    days.set(day, sum([days.get(day) ?? {}, closed]));
  return days;
}

const kept = new WeakMap<Reads, { ofEntries: Reads; name: string; sums: Promise<Tally[]> }>();

/** What happened within a window and within its last part; made once while readings and windows stay the same. */
export async function tallyWithin(deps: FollowDeps, whole: Window, part: Window): Promise<Tally[]> {
  const of = await readings(deps);
  const [ofEntries, ofOutcomes] = of;
  const name = whole.from + part.from + part.to;
  let last = kept.get(ofOutcomes);
  if (last?.name !== name || last.ofEntries !== ofEntries) {
    const sums = daysOf(of, whole).then((days) => [whole, part].map((window) => sumWithin(days, window)));
    kept.set(ofOutcomes, (last = { ofEntries, name, sums }));
    sums.catch(() => kept.delete(ofOutcomes));
  }
  return last.sums;
}
