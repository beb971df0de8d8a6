/** Stores, counts and reports the end of an outcome, or of a change that was never applied. */
import {
  type Ending,
  isJudged,
  measureOutcome,
  type Outcome,
  type OutcomeRecord,
} from "../../changes/rules/outcome.ts";
import { describeMovement, describeVerdict } from "../../changes/rules/outcome_words.ts";
import { calibrate } from "./calibration.ts";
import type { Entry } from "../entries.ts";
import type { ProjectionContext, ProjectedChange } from "../projection.ts";
import { addRow, OUTCOME_KIND } from "../activity.ts";
import { indexEnded, listNewestApplied } from "./indexes.ts";
import { countClosing, removeFromGaps, addGap, type RecordStatus, checkRecord } from "./record_keeping.ts";
import { appendRecord } from "../buffer.ts";
import { addCounts } from "../counts.ts";
import { updateDue, type State, getWindows } from "./state.ts";
import { rememberVerdict } from "./verdict_memory.ts";

const MAX_CLOSED = 10_000;

/** Ends an outcome; its verdict is final. */
export async function closeOutcome(
  context: ProjectionContext<State>,
  record: OutcomeRecord,
  end: { at: string; by: Ending; replaced_by?: string },
): Promise<void> {
  const { change_id, kpi, applied_entry } = record;
  const { at, by } = end;
  const newest = kpi === null ? [] : await listNewestApplied(context.tx, kpi);
  const later = newest.flatMap((applied) => (applied.entry > applied_entry ? applied.change_id : []));
  const { kpis, windows: allWindows, manifest } = context.state;
  const final = measureOutcome(
    record,
    { kpis, counts: allWindows, intent: await context.readIntent(manifest), later },
    end,
  );
  const memory = await rememberVerdict(context, final, at);
  const ended = { ...record, final, ended_entry: context.position, ...(memory !== undefined && { memory }) };
  context.tx.put("outcomes", change_id, ended);
  const windows = getWindows(allWindows, kpi);
  if (kpi !== null)
    context.state = { ...context.state, windows: { ...allWindows, [kpi]: { ...windows, over: windows.over + 1 } } };
  const { timed_out, verdicts } = context.state;
  context.state = {
    ...context.state,
    timed_out: timed_out + (by === "horizon" ? 1 : 0),
    verdicts: verdicts + (isJudged(final) ? 1 : 0),
  };
  const change = await context.readChange(change_id);
  await indexEnded(context.tx, record, change);
  await updateDue(context);
  await closeChange(context, change, final, at);
  await calibrate(context.tx, change, final);
  // A change that names no KPI has no verdict to report.
  if (kpi !== null) await addOutcomeRow(context, final, at);
}

const ENDING_WORDS: Readonly<Record<Ending, string>> = {
  horizon: "at its horizon",
  rollback: "by its rollback",
  guardrail: "by a guardrail's rollback",
  change: "by another change of its target",
};

async function addOutcomeRow(context: ProjectionContext<State>, final: Outcome, at: string): Promise<void> {
  const { change_id: ref, ended_by } = final;
  const rowPosition = { position: context.position, tick: await context.readTick(context.position) };
  const title = `The outcome of ${ref} is final: ${describeVerdict(final)}`;
  const detail = `It ended ${ENDING_WORDS[ended_by!]}. ${describeMovement(final)}`;
  const row = { kind: OUTCOME_KIND, at, title, detail, ref };
  context.state = {
    ...context.state,
    rows: await addRow(context.tx, "outcome_rows", context.state.rows, rowPosition, row),
  };
}

/** Counts a closed change and the missing items of its record. `final` is null if it was never applied. */
export async function closeChange(
  context: ProjectionContext<State>,
  change: ProjectedChange,
  final: Outcome | null,
  at: string,
): Promise<void> {
  const { change_id } = change;
  const { late = [] } = (await context.tx.get("on_record", change_id))?.value ?? {};
  const { missing } = checkRecord(change, final, late);
  if (missing.length > 0) context.tx.put("on_record", change_id, { day: at.slice(0, 10), missing, late });
  await addCounts(context, "closing_days", at, countClosing(change, final, late));
  context.state = { ...context.state, gaps: addGap(context.state.gaps, change_id, missing, at) };
  await addClosed(context, change_id);
}

/** Records that an item was added late; it counts on the day of the close. */
export async function addLateItem(
  context: ProjectionContext<State>,
  { change_id, facts: { item } }: Entry,
): Promise<void> {
  const { day, missing, late } = (await context.tx.get("on_record", change_id))?.value ?? EMPTY_RECORD;
  if (!item) return;
  const stillMissing = missing.filter((other) => other !== item);
  context.tx.put("on_record", change_id, { day, missing: stillMissing, late: [...late, item] });
  if (day === null || stillMissing.length === missing.length) return;
  await addCounts(context, "closing_days", day, { present_items: 1, late_items: 1, [`missing_${item}`]: -1 });
  context.state = { ...context.state, gaps: removeFromGaps(context.state.gaps, change_id, item) };
  // Listed a second time, so that its retrospective, which lists missing items, is written again.
  await addClosed(context, change_id);
}

const EMPTY_RECORD: RecordStatus = { day: null, missing: [], late: [] };

/** Adds a change to the list of closed changes, from which retrospectives are written. */
export async function addClosed(context: ProjectionContext<State>, change_id: string): Promise<void> {
  const closed = await appendRecord(context.tx, "closed", context.state.closed, () => change_id, {
    maxCount: MAX_CLOSED,
  });
  context.state = { ...context.state, closed };
}
