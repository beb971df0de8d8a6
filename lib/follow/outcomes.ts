/**
 * Outcomes of applied changes: opened at the apply, judged when their horizon is over and at each feed after that, closed by
 * their rollback or when their time is over with the values that were fed by then; and what is counted, told and remembered
 * when a change is over.
 */
import { POLICY_GUARDRAIL } from "../governance/rules/actor.ts";
import { closesAt, lookedBackTo, openOutcome } from "../governance/rules/outcome.ts";
import type { Entry } from "./entries.ts";
import { type FollowDeps, type Follower, type Following, MOST_A_STEP } from "./follower.ts";
import { dueKey, dueOf, newestOpen, nextDue, placeOpen } from "./outcome_places.ts";
import { addLate, close, keepClosed, over } from "./outcomes/closing.ts";
import { judge, judgeFirst } from "./outcomes/judging.ts";
import { START, type State, windowsOf } from "./outcomes/state.ts";
import { forget } from "./outcomes/verdict_memory.ts";

export const outcomes: Follower<State> = {
  name: "outcomes",
  version: 7,
  collections: [
    "outcomes",
    "outcomes_due",
    "outcomes_by_kpi",
    "calibration",
    "outcome_rows",
    "outcome_memories",
    "closing_days",
    "on_record",
    "closed",
    "kpi_days",
  ],
  retired: ["closings", "gaps", "retrospectives_due", "verdicts", "outcomes_open", "outcome_rows_kinds"].map(
    (collection) => ({ collection }),
  ),
  start: START,

  follow(on, entry, step) {
    if (entry.facts.manifest_hash !== undefined) on.state = { ...on.state, manifest: entry.facts.manifest_hash };
    switch (entry.event_type) {
      case "kpi_refreshed":
        return judge(on, entry, step);
      case "consent_decision":
        return entry.facts.status === "denied" ? denied(on, entry) : undefined;
      case "change_applied":
        return open(on, entry);
      case "change_rolled_back":
        return rolledBack(on, entry);
      case "note_added":
        return addLate(on, entry);
      case "content_erased":
        return forget(on, entry.change_id, step);
    }
  },

  elapse: (on, until) => !isDue(on.state, until) || judgeDue(on, until),
};

const isDue = ({ due }: State, until: string): boolean => due !== null && due < until;

async function judgeDue(on: Following<State>, until: string): Promise<boolean> {
  while (isDue(on.state, until)) {
    if (!on.room(MOST_A_STEP)) return false;
    const { moment, change_id } = dueOf((await nextDue(on.tx))!);
    const record = (await on.tx.get("outcomes", change_id))!.value;
    if (moment === record.judged_from) await judgeFirst(on, record, moment);
    else {
      await close(on, record, "time", moment);
      on.state = { ...on.state, timed_out: on.state.timed_out + 1 };
    }
  }
  return true;
}

const denied = async (on: Following<State>, { change_id, timestamp }: Entry): Promise<void> =>
  over(on, await on.change(change_id), null, timestamp);

/** Tells how many outcomes time closed while something ran, and how many verdicts were new; 0 where that cannot be read. */
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

async function open(on: Following<State>, { change_id, tenant, timestamp: at, id: entry }: Entry): Promise<void> {
  const change = await on.change(change_id);
  const { kpi } = change;
  const { kpis, windows: all } = on.state;
  const windows = windowsOf(all, kpi);
  const intent = await on.intentOf(on.state.manifest);
  const [[then], others] = await Promise.all([
    on.tx.list("kpi_days", { after: `${lookedBackTo(at).slice(0, 10)}~`, limit: 1, reverse: true }),
    kpi === null ? [] : newestOpen(on.tx, kpi),
  ]);
  const earlier = then?.value.values[kpi ?? ""];
  const record = openOutcome(change, { at, entry, tenant, kpis, earlier, intent, windows, open: others });
  on.tx.put("outcomes", change_id, record);
  await placeOpen(on.tx, record);
  const moment = record.judged_from ?? closesAt(at);
  on.tx.put("outcomes_due", dueKey(moment, change_id), true);
  const { due } = on.state;
  on.state = { ...on.state, due: due !== null && due < moment ? due : moment };
  if (kpi !== null) on.state = { ...on.state, windows: { ...all, [kpi]: { ...windows, opened: windows.opened + 1 } } };
}

async function rolledBack(on: Following<State>, { change_id, timestamp, facts }: Entry): Promise<void> {
  const record = (await on.tx.get("outcomes", change_id))?.value;
  const by = facts.by === POLICY_GUARDRAIL ? "guardrail" : "rollback";
  if (record && !record.final) return close(on, record, by, timestamp);
  // Its time had closed it already; it is told of once more, not counted.
  return keepClosed(on, change_id);
}
