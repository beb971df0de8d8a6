/** What a week's report is made from, each thing read once. */
import type { Entry } from "../../follow/entries.ts";
import { tallyDays } from "../../follow/tallies.ts";
import { sum, type Tally } from "../../follow/tally.ts";
import type { Missing } from "../../governance/rules/missing.ts";
import { DAY_MS, type Week } from "../../kit/days.ts";
import { approvals } from "../change_views.ts";
import type { PulseDeps } from "../deps.ts";
import { type FoundChange, queryChanges } from "../query/change_query.ts";
import { queryEvents } from "../query/event_query.ts";

/** How much of a kind a report names; of more it tells how many there are. */
export const NAMED = 50;
const ENTRIES = 2000;
/** An outcome is open for so long after the apply, and a week's report tells of those that ended in it, too. */
const JUDGED_MS = 37 * DAY_MS;

/** A week as it is on record at the moment of writing. */
export interface WeekSeen {
  week: Week;
  /** Milliseconds. */
  now: number;
  tally: Tally;
  /** What happened in the week, oldest first. */
  entries: Entry[];
  /** How many entries of the week are left out. */
  unseen: number;
  /** Every change that anything here is about. */
  changes: ReadonlyMap<string, FoundChange>;
  /** The ids of those that wait for consent, for their apply, for a review; and of those that drift. */
  pending: string[];
  approved: string[];
  reviews: string[];
  drifting: string[];
  /** The ids of those whose outcome is open, or was closed in the week. */
  judged: string[];
  missing: ReadonlyMap<string, readonly Missing[]>;
}

/** Reads it. Without a product there are no changes. */
export async function seeWeek(deps: PulseDeps, week: Week): Promise<WeekSeen> {
  const now = deps.clock.now();
  const from = `${week.from}T00:00:00.000Z`;
  const to = new Date(Date.parse(week.to) + DAY_MS).toISOString();
  const { entries, total } = await queryEvents(deps.store, { from, to, limit: ENTRIES });
  const tally = sum([...(await tallyDays(deps, week)).values()]);
  const seen = { week, now, tally, entries, unseen: total - entries.length };
  if (!deps.product)
    return {
      ...seen,
      changes: new Map(),
      pending: [],
      approved: [],
      reviews: [],
      drifting: [],
      judged: [],
      missing: new Map(),
    };
  const waiting = await approvals(deps, { limit: NAMED });
  const happened = [...new Set(entries.flatMap(({ change_id }) => (change_id === "" ? [] : [change_id])))];
  const asked = idsOf([...waiting.pending, ...waiting.approved, ...waiting.review_due]);
  const since = new Date(now - JUDGED_MS).toISOString();
  const found = await Promise.all([
    queryChanges(deps, { change_id: [...happened, ...asked], limit: ENTRIES }),
    queryChanges(deps, { drifted: true, limit: NAMED }),
    queryChanges(deps, { period: { of: "applied", from: since }, limit: ENTRIES }),
  ]);
  const rows = found.flatMap((answer) => answer.rows);
  const judged = found[2].rows.filter(
    ({ outcome }) => outcome && outcome.kpi !== null && (outcome.state === "open" || outcome.as_of >= from),
  );
  return {
    ...seen,
    changes: new Map(rows.map((row) => [row.change.change_id, row])),
    pending: idsOf(waiting.pending),
    approved: idsOf(waiting.approved),
    reviews: idsOf(waiting.review_due),
    drifting: idsOf(found[1].rows.map(({ change }) => change)),
    judged: idsOf(judged.map(({ change }) => change)),
    missing: new Map([...waiting.pending, ...waiting.approved].map((one) => [one.change_id, one.missing])),
  };
}

const idsOf = (some: readonly { change_id: string }[]): string[] => some.map(({ change_id }) => change_id);

/** Items of which some are named and the others counted. */
export const capped = (items: readonly string[], most = NAMED): string[] =>
  items.length <= most ? [...items] : [...items.slice(0, most), `and ${items.length - most} more`];
