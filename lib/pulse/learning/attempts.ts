/** The applies that R counts, by target. */
import type { Entry } from "../../follow/entries.ts";
import { readRecords } from "../../governance/records.ts";
import { DAY_MS, type Window } from "../../kit/days.ts";
import type { PulseDeps } from "../deps.ts";
import { queryEvents } from "../query/event_query.ts";

/** What became of the attempts on one target; `failed` counts each attempt once, under however many causes it stands. */
interface OnTarget {
  target: string;
  attempted: number;
  failed: number;
  adapter_failure: number;
  rolled_back: number;
  drifted: number;
}

const NONE = { attempted: 0, failed: 0, adapter_failure: 0, rolled_back: 0, drifted: 0 };
const MOST = 5000;
const AT_ONCE = 500;

/** Attempts within a window, the targets with the most failures first; `left_out`: how many were too many to look at. */
export async function attemptsByTarget(
  { store }: PulseDeps,
  { from, to }: Window,
): Promise<{ targets: OnTarget[]; left_out: number }> {
  const since = `${from}T00:00:00.000Z`;
  const until = new Date(Date.parse(to) + DAY_MS).toISOString();
  const asked = { from: since, limit: MOST } as const;
  const tried = await queryEvents(store, { ...asked, to: until, types: ["change_applied", "change_apply_failed"] });
  const undone = await queryEvents(store, { ...asked, types: ["change_rolled_back", "change_drifted"] });
  const idsOf = (type: Entry["event_type"]) =>
    new Set(undone.entries.flatMap(({ event_type, change_id }) => (event_type === type ? [change_id] : [])));
  const [rolledBack, drifted] = [idsOf("change_rolled_back"), idsOf("change_drifted")];
  const targetOf = await targetsOf(store, tried.entries);
  const byTarget = new Map<string, OnTarget>();
  for (const { event_type, change_id, facts } of tried.entries) {
    const target = targetOf.get(change_id) ?? change_id;
    const known = byTarget.get(target) ?? { target, ...NONE };
    const isFailure = event_type === "change_apply_failed";
    // What the host answered late was counted when it failed; its rollback is told as one all the same.
    const isCounted = facts.late !== true;
    const isUndone = !isFailure && rolledBack.has(change_id);
    const isDrifted = !isFailure && isCounted && drifted.has(change_id);
    byTarget.set(target, {
      target,
      attempted: known.attempted + (isCounted ? 1 : 0),
      failed: known.failed + (isCounted && (isFailure || isUndone || isDrifted) ? 1 : 0),
      adapter_failure: known.adapter_failure + (isCounted && isFailure ? 1 : 0),
      rolled_back: known.rolled_back + (isUndone ? 1 : 0),
      drifted: known.drifted + (isDrifted ? 1 : 0),
    });
  }
  const targets = [...byTarget.values()].sort(
    (a, b) => b.failed - a.failed || b.attempted - a.attempted || (a.target < b.target ? -1 : 1),
  );
  return { targets, left_out: tried.total - tried.entries.length };
}

/** The target of each change that entries speak of; a failure's entry does not name it. */
async function targetsOf(store: PulseDeps["store"], entries: readonly Entry[]): Promise<Map<string, string>> {
  const ids = [...new Set(entries.map(({ change_id }) => change_id))];
  const targets = new Map<string, string>();
  for (let begin = 0; begin < ids.length; begin += AT_ONCE)
    for (const record of await readRecords(store, ids.slice(begin, begin + AT_ONCE)))
      if (record) targets.set(record.change.change_id, record.change.target);
  return targets;
}
