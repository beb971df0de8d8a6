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

interface Kept {
  of: readonly Reads[];
  windows: string;
  sums: Promise<Tally[]>;
}

const kept = new WeakMap<FollowDeps["store"], Kept>();

/** What happened within a window and within later parts of it; made once while readings and windows stay the same. */
export async function tallyWithin(deps: FollowDeps, whole: Window, ...parts: Window[]): Promise<Tally[]> {
  const of = await readings(deps);
  const windows = JSON.stringify([whole, ...parts]);
  let last = kept.get(deps.store);
  if (last?.windows !== windows || last.of.some((one, index) => one !== of[index])) {
    const sums = daysOf(of, whole).then((days) => [whole, ...parts].map((window) => sumWithin(days, window)));
    kept.set(deps.store, (last = { of, windows, sums }));
    sums.catch(() => kept.delete(deps.store));
  }
  return last.sums;
}
