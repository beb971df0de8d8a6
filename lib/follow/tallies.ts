/** What happened, of what entries and what outcomes are counted by. */
import type { Window } from "../kit/days.ts";
import type { FollowDeps } from "./follower.ts";
import { outcomes } from "./outcomes.ts";
import { reading } from "./reading.ts";
import { bucketsOf, sum, type Tally, tally } from "./tally.ts";

const readings = (deps: FollowDeps) => Promise.all([reading(deps, tally), reading(deps, outcomes)]);

/** What happened since the log began. */
export async function totalTally(deps: FollowDeps): Promise<Tally> {
  return sum((await readings(deps)).map(({ state }) => state.total));
}

/** What happened on each day of a window; a day on which nothing did is left out. */
export async function tallyDays(deps: FollowDeps, window: Window): Promise<Map<string, Tally>> {
  const [ofEntries, ofOutcomes] = await readings(deps);
  const days = new Map(await bucketsOf(ofEntries, "tally_days", window));
  for (const [day, closed] of await bucketsOf(ofOutcomes, "closing_days", window))
    days.set(day, sum([days.get(day) ?? {}, closed]));
  return days;
}
