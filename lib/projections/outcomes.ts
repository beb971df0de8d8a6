/**
 * Outcomes of applied changes: opened at the apply, and ended by their horizon, their rollback or the apply of another change
 * on their target, with the values that were fed by then; and what is counted, reported and remembered when a change is over.
 */
import { POLICY_GUARDRAIL } from "../changes/rules/actor.ts";
import { targetKey } from "../changes/records.ts";
import { feed } from "../changes/rules/kpi.ts";
import { lookedBackTo, openOutcome } from "../changes/rules/outcome.ts";
import type { Entry } from "./entries.ts";
import { type FollowDeps, type Follower, type Following, MOST_A_STEP } from "./follower.ts";
import { indexOpen, listDue, newestOpen } from "./outcome_places.ts";
import { addLate, close, keepClosed, over } from "./outcomes/closing.ts";
import { START, type State, windowsOf } from "./outcomes/state.ts";
import { forgetVerdict } from "./outcomes/verdict_memory.ts";

export const outcomes: Follower<State> = {
  name: "outcomes",
  version: 8,
  collections: [
    "outcomes",
    "outcomes_due",
    "outcomes_by_kpi",
    "outcomes_by_target",
    "calibration",
    "outcome_rows",
    "outcome_memories",
    "closing_days",
    "on_record",
    "closed",
    "kpi_days",
  ],
  start: START,

  follow(on, entry, step) {
    if (entry.facts.manifest_hash !== undefined) on.state = { ...on.state, manifest: entry.facts.manifest_hash };
    switch (entry.event_type) {
      case "kpi_refreshed":
        return takeFeed(on, entry);
      case "consent_decision":
        return entry.facts.status === "denied" ? denied(on, entry) : undefined;
      case "change_applied":
        return step === "" ? replace(on, entry) : open(on, entry);
      case "change_rolled_back":
        return rolledBack(on, entry);
      case "note_added":
        return addLate(on, entry);
      case "content_erased":
        return forgetVerdict(on, entry.change_id);
    }
  },

  elapse: (on, until) => !isDue(on.state, until) || endDue(on, until),
};

const isDue = ({ due }: State, until: string): boolean => due !== null && due < until;

/** Ends the outcomes whose horizon is over. */
async function endDue(on: Following<State>, until: string): Promise<boolean> {
  while (isDue(on.state, until)) {
    if (!on.room(MOST_A_STEP)) return false;
    const { moment, change_id } = (await listDue(on.tx, 1))[0]!;
    const record = (await on.tx.get("outcomes", change_id))!.value;
    await close(on, record, { at: moment, by: "horizon" });
  }
  return true;
}

function takeFeed(on: Following<State>, { id, timestamp: at, facts }: Entry): void {
  const kpis = feed(on.state.kpis, facts.values ?? {}, at, id);
  on.state = { ...on.state, kpis };
  on.tx.put("kpi_days", at.slice(0, 10), { at, values: kpis.values });
}

const denied = async (on: Following<State>, { change_id, timestamp }: Entry): Promise<void> =>
  over(on, await on.change(change_id), null, timestamp);

/** Returns how many outcomes ended at their horizon while something ran, and how many verdicts were new; 0 where that cannot be read. */
export async function judgedMeanwhile(
  { store }: Pick<FollowDeps, "store">,
  run: () => Promise<unknown>,
): Promise<{ closed: number; new_verdicts: number }> {
  const soFar = async () => (await store.get("cursors", outcomes.name).catch(() => undefined))?.value.state as State;
  const before: State | undefined = await soFar();
  await run();
  const after: State = (await soFar()) ?? before ?? outcomes.start;
  const { timed_out, verdicts } = before ?? outcomes.start;
  return { closed: after.timed_out - timed_out, new_verdicts: after.verdicts - verdicts };
}

/** Ends the outcome that is open on the target of an apply, and opens that of the applied change. */
async function replace(on: Following<State>, entry: Entry): Promise<string | void> {
  const { change_id, timestamp: at } = entry;
  const replaced = (await on.tx.get("outcomes_by_target", targetKey(await on.change(change_id))))?.value;
  if (replaced === undefined) return open(on, entry);
  const record = (await on.tx.get("outcomes", replaced))!.value;
  await close(on, record, { at, by: "change", replaced_by: change_id });
  return on.room(MOST_A_STEP) ? open(on, entry) : "open";
}

async function open(on: Following<State>, { change_id, tenant, timestamp: at, id: entry }: Entry): Promise<void> {
  const change = await on.change(change_id);
  const { kpi } = change;
  const { kpis, windows: all, due } = on.state;
  const windows = windowsOf(all, kpi);
  const intent = await on.intentOf(on.state.manifest);
  const [[then], others] = await Promise.all([
    on.tx.list("kpi_days", { after: `${lookedBackTo(at).slice(0, 10)}~`, limit: 1, reverse: true }),
    kpi === null ? [] : newestOpen(on.tx, kpi),
  ]);
  const earlier = then?.value.values[kpi ?? ""];
  const record = openOutcome(change, { at, entry, tenant, kpis, earlier, intent, windows, open: others });
  on.tx.put("outcomes", change_id, record);
  await indexOpen(on.tx, record, change);
  const { judged_from } = record;
  on.state = { ...on.state, due: due !== null && due < judged_from ? due : judged_from };
  if (kpi !== null) on.state = { ...on.state, windows: { ...all, [kpi]: { ...windows, opened: windows.opened + 1 } } };
}

async function rolledBack(on: Following<State>, { change_id, timestamp: at, facts }: Entry): Promise<void> {
  const record = (await on.tx.get("outcomes", change_id))?.value;
  const by = facts.by === POLICY_GUARDRAIL ? "guardrail" : "rollback";
  if (record && !record.final) return close(on, record, { at, by });
  // It ended before and is counted; it is listed once more among those that are over.
  return keepClosed(on, change_id);
}
