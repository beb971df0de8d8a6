/** What is counted, kept and told when a change is over. */
import { closesAt, finalOutcome, type Outcome, type OutcomeRecord } from "../../governance/rules/outcome.ts";
import { wordOf } from "../../governance/rules/outcome_words.ts";
import { calibrate } from "../calibration.ts";
import type { Entry } from "../entries.ts";
import type { Following, ToldChange } from "../follower.ts";
import { dueKey, newestApplied, placeOver } from "../outcome_places.ts";
import { closingTally, gapsWithout, newestGaps, type OnRecord, recordOf } from "../record_keeping.ts";
import { push } from "../ring.ts";
import { bump } from "../tally.ts";
import { findDue, measured, type State, windowsOf } from "./state.ts";
import { tell } from "./telling.ts";
import { rememberVerdict } from "./verdict_memory.ts";

const CLOSED_KEPT = 10_000;

/** Closes an outcome for good. */
export async function close(
  on: Following<State>,
  record: OutcomeRecord,
  by: "time" | "rollback" | "guardrail",
  at: string,
): Promise<void> {
  const { change_id, kpi, applied_entry, judged_from } = record;
  const newest = kpi === null ? [] : await newestApplied(on.tx, kpi);
  const later = newest.flatMap((one) => (one.entry > applied_entry ? one.change_id : []));
  const final = finalOutcome(record, by, { ...(await measured(on)), later }, at);
  on.tx.put("outcomes", change_id, { ...record, final });
  await rememberVerdict(on, record, final, at);
  placeOver(on.tx, record);
  const { windows: all } = on.state;
  const windows = windowsOf(all, kpi);
  if (kpi !== null) on.state = { ...on.state, windows: { ...all, [kpi]: { ...windows, over: windows.over + 1 } } };
  const horizon = dueKey(judged_from ?? "", change_id);
  const isEarly = (await on.tx.get("outcomes_due", horizon)) !== undefined;
  on.tx.delete("outcomes_due", isEarly ? horizon : dueKey(closesAt(record.applied_at), change_id));
  await findDue(on);
  const change = await on.change(change_id);
  await over(on, change, final, at);
  await calibrate(on.tx, change, final);
  const how = by === "time" ? "after 30 days" : "by its rollback";
  const title = `The outcome of ${change_id} is final: ${wordOf(final)}`;
  await tell(on, final, title, at, `It was closed ${how}. `);
}

/** Counts a change that is over, and keeps what is missing on its record. `final`: `null` when it was never applied. */
export async function over(on: Following<State>, change: ToldChange, final: Outcome | null, at: string): Promise<void> {
  const { change_id } = change;
  const { late = [] } = (await on.tx.get("on_record", change_id))?.value ?? {};
  const { missing } = recordOf(change, final, late);
  if (missing.length > 0) on.tx.put("on_record", change_id, { day: at.slice(0, 10), missing, late });
  await bump(on, "closing_days", at, closingTally(change, final, late));
  on.state = { ...on.state, gaps: newestGaps(on.state.gaps, change_id, missing, at) };
  await keepClosed(on, change_id);
}

/** Something that was missing was said afterwards: it counts on the day of the close. */
export async function addLate(on: Following<State>, { change_id, facts: { item } }: Entry): Promise<void> {
  const { day, missing, late } = (await on.tx.get("on_record", change_id))?.value ?? NOTHING_YET;
  if (!item) return;
  const left = missing.filter((one) => one !== item);
  on.tx.put("on_record", change_id, { day, missing: left, late: [...late, item] });
  if (day === null || left.length === missing.length) return;
  await bump(on, "closing_days", day, { present_items: 1, late_items: 1, [`missing_${item}`]: -1 });
  on.state = { ...on.state, gaps: gapsWithout(on.state.gaps, change_id, item) };
  await keepClosed(on, change_id);
}

const NOTHING_YET: OnRecord = { day: null, missing: [], late: [] };

/** Puts a change among those that are over. */
export async function keepClosed(on: Following<State>, change_id: string): Promise<void> {
  const closed = await push(on.tx, "closed", on.state.closed, () => change_id, { most: CLOSED_KEPT });
  on.state = { ...on.state, closed };
}
