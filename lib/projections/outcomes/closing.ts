/** What is stored, counted and reported when the outcome of a change ends, or a change is over without one. */
import { type Ending, isJudged, measure, type Outcome, type OutcomeRecord } from "../../changes/rules/outcome.ts";
import { movementOf, wordOf } from "../../changes/rules/outcome_words.ts";
import { calibrate } from "../calibration.ts";
import type { Entry } from "../entries.ts";
import type { Following, FollowedChange } from "../follower.ts";
import { addRow, OUTCOME_KIND } from "../growth_row.ts";
import { indexOver, newestApplied } from "../outcome_places.ts";
import { closingTally, gapsWithout, newestGaps, type OnRecord, recordOf } from "../record_keeping.ts";
import { push } from "../ring.ts";
import { bump } from "../tally.ts";
import { findDue, type State, windowsOf } from "./state.ts";
import { rememberVerdict } from "./verdict_memory.ts";

const CLOSED_KEPT = 10_000;

/** Ends an outcome: its verdict stays. */
export async function close(
  on: Following<State>,
  record: OutcomeRecord,
  end: { at: string; by: Ending; replaced_by?: string },
): Promise<void> {
  const { change_id, kpi, applied_entry } = record;
  const { at, by } = end;
  const newest = kpi === null ? [] : await newestApplied(on.tx, kpi);
  const later = newest.flatMap((one) => (one.entry > applied_entry ? one.change_id : []));
  const { kpis, windows: all, manifest } = on.state;
  const final = measure(record, { kpis, windows: all, intent: await on.intentOf(manifest), later }, end);
  const memory = await rememberVerdict(on, final, at);
  const ended = { ...record, final, ended_entry: on.position, ...(memory !== undefined && { memory }) };
  on.tx.put("outcomes", change_id, ended);
  const windows = windowsOf(all, kpi);
  if (kpi !== null) on.state = { ...on.state, windows: { ...all, [kpi]: { ...windows, over: windows.over + 1 } } };
  const { timed_out, verdicts } = on.state;
  on.state = {
    ...on.state,
    timed_out: timed_out + (by === "horizon" ? 1 : 0),
    verdicts: verdicts + (isJudged(final) ? 1 : 0),
  };
  const change = await on.change(change_id);
  await indexOver(on.tx, record, change);
  await findDue(on);
  await over(on, change, final, at);
  await calibrate(on.tx, change, final);
  // A change that names no KPI has no verdict to report.
  if (kpi !== null) await addOutcomeRow(on, final, at);
}

const ENDED: Readonly<Record<Ending, string>> = {
  horizon: "at its horizon",
  rollback: "by its rollback",
  guardrail: "by a guardrail's rollback",
  change: "by another change of its target",
};

async function addOutcomeRow(on: Following<State>, final: Outcome, at: string): Promise<void> {
  const { change_id: ref, ended_by } = final;
  const place = { position: on.position, tick: await on.tickAt(on.position) };
  const title = `The outcome of ${ref} is final: ${wordOf(final)}`;
  const detail = `It ended ${ENDED[ended_by!]}. ${movementOf(final)}`;
  const row = { kind: OUTCOME_KIND, at, title, detail, ref };
  on.state = { ...on.state, rows: await addRow(on.tx, "outcome_rows", on.state.rows, place, row) };
}

/** Counts a change that is over, and keeps what is missing on its record. `final`: `null` when it was never applied. */
export async function over(
  on: Following<State>,
  change: FollowedChange,
  final: Outcome | null,
  at: string,
): Promise<void> {
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
