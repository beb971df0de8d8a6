/**
 * Projection of the outcomes of applied changes. An apply opens an outcome; the horizon, a rollback or the apply of another
 * change on the target ends it with the values fed by then. When a change is closed, the projection counts and reports it.
 */
import { POLICY_GUARDRAIL } from "../changes/rules/actor.ts";
import { formatTargetKey } from "../changes/records.ts";
import { isPlan, listEntries } from "../changes/rules/list_entries.ts";
import { addFeedValues } from "../changes/rules/kpi.ts";
import { findTrendStart, openOutcome } from "../changes/rules/outcome.ts";
import { measureRollout } from "../changes/rules/rollout_outcome.ts";
import type { Entry } from "./entries.ts";
import { type ProjectionDeps, type Projection, type ProjectionContext, MAX_WRITES_PER_STEP } from "./projection.ts";
import { indexOpen, indexTargets, listDue, listNewestOpen } from "./outcomes/indexes.ts";
import { addClosed, addLateItem, closeChange, closeOutcome } from "./outcomes/close_outcome.ts";
import { START, type State, getWindows } from "./outcomes/state.ts";
import { forgetVerdict } from "./outcomes/verdict_memory.ts";

export const outcomes: Projection<State> = {
  name: "outcomes",
  version: 9,
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

  async apply(context, entry, step) {
    if (entry.facts.manifest_hash !== undefined)
      context.state = { ...context.state, manifest: entry.facts.manifest_hash };
    switch (entry.event_type) {
      case "kpi_refreshed":
        return recordFeed(context, entry);
      case "consent_decision":
        return entry.facts.status === "denied" ? closeDenied(context, entry) : undefined;
      case "change_applied":
        // The steps, if not all writes fit at once: `replace`, `open`, and for a plan `targets`.
        if (step === "targets") return indexTargets(context.tx, await context.readChange(entry.change_id));
        return step === "open" ? openApplied(context, entry) : replaceOutcomes(context, entry);
      case "change_rolled_back":
        return endByRollback(context, entry);
      case "stage_advanced":
      case "stage_held":
      case "stage_stopped":
        return recordReadings(context, entry);
      case "note_added":
        return addLateItem(context, entry);
      case "content_erased":
        return forgetVerdict(context, entry.change_id);
    }
  },

  applyTime: (context, until) => !isDue(context.state, until) || endDueOutcomes(context, until),
};

const isDue = ({ due }: State, until: string): boolean => due !== null && due < until;

/** Ends the outcomes whose horizon has passed. */
async function endDueOutcomes(context: ProjectionContext<State>, until: string): Promise<boolean> {
  while (isDue(context.state, until)) {
    if (!context.hasRoom(MAX_WRITES_PER_STEP)) return false;
    const { moment, change_id } = (await listDue(context.tx, 1))[0]!;
    const record = (await context.tx.get("outcomes", change_id))!.value;
    await closeOutcome(context, record, { at: moment, by: "horizon" });
  }
  return true;
}

function recordFeed(context: ProjectionContext<State>, { id, timestamp: at, facts }: Entry): void {
  const kpis = addFeedValues(context.state.kpis, facts.values ?? {}, at, id);
  context.state = { ...context.state, kpis };
  context.tx.put("kpi_days", at.slice(0, 10), { at, values: kpis.values });
}

/** A denied change is closed without an outcome. */
const closeDenied = async (context: ProjectionContext<State>, { change_id, timestamp }: Entry): Promise<void> =>
  closeChange(context, await context.readChange(change_id), null, timestamp);

/** Counts the outcomes that ended at their horizon during a run, and the new verdicts; 0 if they cannot be read. */
export async function countVerdicts(
  { store }: Pick<ProjectionDeps, "store">,
  run: () => Promise<unknown>,
): Promise<{ closed: number; new_verdicts: number }> {
  const readState = (): Promise<State | undefined> =>
    store.get("cursors", outcomes.name).then(
      (cursor) => (cursor?.value.state as State | undefined) ?? outcomes.start,
      () => undefined,
    );
  const before = await readState();
  await run();
  const after = await readState();
  if (!before || !after) return { closed: 0, new_verdicts: 0 };
  return { closed: after.timed_out - before.timed_out, new_verdicts: after.verdicts - before.verdicts };
}

/** Ends the outcomes that are open on the targets of an apply, and opens the outcome of the applied change. */
async function replaceOutcomes(context: ProjectionContext<State>, entry: Entry): Promise<string | void> {
  const { change_id, timestamp: at } = entry;
  for (const target of listEntries(await context.readChange(change_id))) {
    const replaced = (await context.tx.get("outcomes_by_target", formatTargetKey(target)))?.value;
    if (replaced === undefined) continue;
    if (!context.hasRoom(MAX_WRITES_PER_STEP)) return "replace";
    const record = (await context.tx.get("outcomes", replaced))!.value;
    if (!record.final) await closeOutcome(context, record, { at, by: "change", replaced_by: change_id });
  }
  return context.hasRoom(MAX_WRITES_PER_STEP) ? openApplied(context, entry) : "open";
}

async function openApplied(
  context: ProjectionContext<State>,
  { change_id, tenant, timestamp: at, id: entry }: Entry,
): Promise<string | void> {
  const change = await context.readChange(change_id);
  const { kpi } = change;
  const { kpis, due } = context.state;
  const windows = getWindows(context.state.windows, kpi);
  const intent = await context.readIntent(context.state.manifest);
  // The last feed up to the day on which the trend before the apply starts; `~` sorts after every key of that day.
  const [[feedBefore], openChanges] = await Promise.all([
    context.tx.list("kpi_days", { after: `${findTrendStart(at).slice(0, 10)}~`, limit: 1, reverse: true }),
    kpi === null ? [] : listNewestOpen(context.tx, kpi),
  ]);
  const earlier = feedBefore?.value.values[kpi ?? ""];
  const record = openOutcome(change, { at, entry, tenant, kpis, earlier, intent, counts: windows, open: openChanges });
  context.tx.put("outcomes", change_id, record);
  await indexOpen(context.tx, record);
  const { judged_from } = record;
  context.state = { ...context.state, due: due !== null && due < judged_from ? due : judged_from };
  if (kpi !== null)
    context.state = {
      ...context.state,
      windows: { ...context.state.windows, [kpi]: { ...windows, opened: windows.opened + 1 } },
    };
  if (isPlan(change)) return "targets";
  indexTargets(context.tx, change);
}

/** Stores the bounds that a decision on a rollout has computed. */
async function recordReadings(
  context: ProjectionContext<State>,
  { change_id, facts: { readings } }: Entry,
): Promise<void> {
  const record = (await context.tx.get("outcomes", change_id))?.value;
  if (!readings || !record?.measured || record.final) return;
  const { stages } = await context.readChange(change_id);
  if (stages) context.tx.put("outcomes", change_id, { ...record, measured: measureRollout(stages, readings) });
}

async function endByRollback(
  context: ProjectionContext<State>,
  { change_id, timestamp: at, facts }: Entry,
): Promise<void> {
  const record = (await context.tx.get("outcomes", change_id))?.value;
  const by = facts.by === POLICY_GUARDRAIL ? "guardrail" : "rollback";
  if (record && !record.final) return closeOutcome(context, record, { at, by });
  // The outcome had ended and was counted; the change is listed as closed once more.
  return addClosed(context, change_id);
}
