/** The report on each dimension, from the records: what the built-in worker writes for a task. */
import { entriesOf } from "../audit/page.ts";
import { factsIn, type Entry } from "../follow/entries.ts";
import { growthPage } from "../follow/growth_log.ts";
import { movementOf } from "../governance/rules/outcome_words.ts";
import { outcomes } from "../follow/outcomes.ts";
import { reading } from "../follow/reading.ts";
import { RECORD_ITEMS } from "../follow/record_keeping.ts";
import { goodOf, type KpiState, roundDelta } from "../governance/rules/kpi.ts";
import { movedWords } from "../governance/rules/kpi_words.ts";
import { DAY_MS, dayOf, HOUR_MS } from "../kit/days.ts";
import { isJudged } from "../governance/rules/outcome.ts";
import { outcomePage } from "./change_views.ts";
import type { PulseDeps } from "./deps.ts";
import type { Figures } from "./figures.ts";
import { code, list, page, quoted, share, table } from "./markdown.ts";
import { staleKpis } from "./need.ts";
import { AGE_CLASSES, type AgeClass, overdueOf } from "../follow/overdue.ts";
import type { Dimension } from "./tasks.ts";
import { readRecords } from "../governance/records.ts";

/** How many outcomes and failures are shown, and how many overdue items of a kind. */
const SHOWN = 10;
const OVERDUE_SHOWN = 20;
const FAILURES = ["change_apply_failed", "change_rollback_failed", "change_rolled_back", "change_drifted"];

/** A report's Markdown, by the dimension it is on. */
export const REPORTS: Readonly<Record<Dimension, (deps: PulseDeps, figures: Figures) => Promise<string>>> = {
  E: effectReport,
  M: memoryReport,
  R: reliabilityReport,
  N: needReport,
};

/** Which KPIs moved within a week, and what applied changes were expected to move. */
async function effectReport(deps: PulseDeps, { effect }: Figures): Promise<string> {
  const before = await aWeekAgo(deps);
  const intent = deps.product?.intent ?? { kpis: {} };
  const rows = effect.parts.map(({ kpi, value, target, attainment, reason }) => {
    const was = before[kpi]?.value;
    const moved = was === undefined ? "no earlier value" : movedWords(roundDelta(value - was), goodOf(kpi, intent));
    return [code(kpi), was ?? "–", value, moved, target ?? "–", attainment === null ? reason : share(attainment)];
  });
  const newest = deps.product ? (await outcomePage(deps, { limit: 50 })).outcomes : [];
  const judged = newest.filter(isJudged).slice(0, SHOWN);
  return page(
    "## Effect: what moved",
    `E is ${share(effect.value)}: the weighted mean of the attainments below.`,
    table(["KPI", "a week ago", "now", "moved", "target", "attainment"], rows) ?? "No KPI was fed yet.",
    judged.length > 0
      ? "Expected against realised movement of applied changes (a correlation, not a cause):"
      : undefined,
    list(judged.map((outcome) => `${code(outcome.change_id)} ${outcome.verdict}: ${movementOf(outcome)}`)),
    "Computed from the KPI feeds, one remembered a day, and the outcomes of applied changes.",
  );
}

/** The values as they stood 7 days ago, or on the first day of feeds when that is less long ago. */
async function aWeekAgo(deps: PulseDeps): Promise<KpiState["values"]> {
  const read = await reading(deps, outcomes);
  const day = dayOf(deps.clock.now() - 7 * DAY_MS);
  const [then] = await read.list("kpi_days", { after: `${day}~`, limit: 1, reverse: true });
  const [first] = then ? [then] : await read.list("kpi_days", { limit: 1 });
  return first && first.id < dayOf(deps.clock.now()) ? first.value.values : {};
}

/** What is missing on the record of closed changes, and where. */
async function memoryReport({ store }: PulseDeps, { memory }: Figures): Promise<string> {
  const { value, from, to, closed, expected, present, missing, gaps } = memory;
  const ids = gaps.map(({ change_id }) => change_id);
  const records = await readRecords(store, ids);
  const rows = gaps.map(({ change_id, missing: items }, index) => {
    const summary = records[index]?.change.summary ?? "";
    return `${code(change_id)} ${quoted(summary)} lacks ${items.join(", ")}`;
  });
  return page(
    "## Memory: what is on record",
    `M is ${share(value)}: of ${expected} things that should be on record of ${closed} changes closed from ${from} to ${to}, ${present} are.`,
    list(RECORD_ITEMS.filter((item) => missing[item] > 0).map((item) => `${item}: missing ${missing[item]} times`)),
    rows.length > 0 ? "The newest gaps:" : "There are no gaps.",
    list(rows),
    "Computed from the closed changes: rationale, named decider, note, and a verdict on what was applied.",
  );
}

/** Which applies failed, and of what. */
async function reliabilityReport(deps: PulseDeps, { reliability }: Figures): Promise<string> {
  const { value, from, to, n, failed, causes, interval } = reliability;
  const sure = interval ? ` (95 % interval ${share(interval.low)} to ${share(interval.high)})` : "";
  const failures = await newestFailures(deps);
  return page(
    "## Reliability: what failed, and why",
    `R is ${share(value)}${sure}: of ${n} applies attempted from ${from} to ${to}, ${failed} failed.`,
    list([
      `failed in the adapter: ${causes.adapter_failure}`,
      `rolled back: ${causes.rolled_back}`,
      `drifted: ${causes.drifted}`,
    ]),
    failures.length > 0 ? "The newest failures:" : "No failure is on record.",
    list(failures),
    "Computed from the audit log: change_applied, change_apply_failed, change_rolled_back, change_drifted.",
  );
}

/** The newest failures with the cause that the audit log gives, newest first. */
async function newestFailures(deps: PulseDeps): Promise<string[]> {
  const kinds = ["operation_failed", "rolled_back", "drift"];
  const pages = await Promise.all(kinds.map((kind) => growthPage(deps, { limit: SHOWN, kind })));
  const rows = pages.flatMap(({ entries }) => entries).sort((a, b) => b.seq - a.seq);
  const ids = [...new Set(rows.flatMap(({ ref }) => ref ?? []))].slice(0, SHOWN);
  const records = await readRecords(deps.store, ids);
  const told = records.map(async (record) => {
    const entries = await entriesOf(deps.store, record?.audit.slice(-10) ?? []);
    const last = entries.filter(({ event_type }) => FAILURES.includes(event_type)).at(-1);
    if (!record || !last) return [];
    const { change_id, target } = record.change;
    return `${last.timestamp} ${code(change_id)} on ${code(target)}: ${causeOf(factsIn(last))}`;
  });
  return (await Promise.all(told)).flat();
}

function causeOf({ event_type, facts: { stage, error, state, by } }: Entry): string {
  const what = event_type.replace("change_", "").replaceAll("_", " ");
  if (error) return `${what} in ${stage}: ${quoted(error)}`;
  if (state) return `${what}: the host's state is ${state}`;
  return by ? `${what} by ${quoted(by)}` : what;
}

/** What is overdue, the oldest first. */
async function needReport(deps: PulseDeps, { need, effect }: Figures): Promise<string> {
  const { store, clock, integrity } = deps;
  const drifted = await store.list("drift", { limit: OVERDUE_SHOWN });
  const items = [
    ...(await overdueChanges(deps)),
    ...(await Promise.all(AGE_CLASSES.slice(2).map((ageClass) => overdueTasks(deps, ageClass)))).flat(),
    ...drifted.map(
      ({ value: { change_id, target, state, since } }) =>
        `the host no longer shows ${code(change_id)} on ${code(target)}: ${state} since ${since}`,
    ),
    ...staleKpis(effect, clock.now()).map((kpi) => `${code(kpi)} was not fed for more than 7 days`),
    ...(integrity.breach ? [`the audit chain does not hold at entry ${integrity.breach.first_invalid}`] : []),
  ];
  return page(
    "## Need: what is overdue",
    `N is ${share(need.value)}: of ${need.open} open items, ${need.at_least ? "at least " : ""}${need.overdue} are overdue, with a weight of ${need.weight}.`,
    openItems(need),
    items.length > 0 ? "Overdue:" : "Nothing is overdue.",
    list(items.slice(0, OVERDUE_SHOWN * 2)),
    "Computed from pending and approved changes, open tasks, reviews that are due, drift, the age of the KPIs and the state of the audit chain.",
  );
}

/** What is open, as a table; `undefined` when nothing is. */
export const openItems = ({ items }: Figures["need"]): string | undefined =>
  table(
    ["item", "open", "overdue"],
    items.map(({ item, open, overdue }) => [item, open, overdue]),
  );

const age = ({ clock }: PulseDeps, since: string): string =>
  `${Math.floor((clock.now() - Date.parse(since)) / HOUR_MS)} h`;

async function overdueChanges(deps: PulseDeps): Promise<string[]> {
  const classes = ["pending_changes", "approved_changes"] as const;
  const overdue = await Promise.all(classes.map((ageClass) => overdueOf(deps, ageClass, OVERDUE_SHOWN)));
  const ids = overdue.flatMap((aged) => aged.slice(0, OVERDUE_SHOWN).map(({ id }) => id));
  const records = await readRecords(deps.store, ids);
  return records.flatMap((record) => {
    if (!record) return [];
    const { change_id, target, summary, status, created_at, decided_at, approvals, required_approvers } = record.change;
    const of = `${code(change_id)} on ${code(target)} ${quoted(summary)}`;
    const consents = `${approvals.length} of ${required_approvers} consents`;
    if (status === "pending_consent") return `${of}: pending for ${age(deps, created_at)}, ${consents}`;
    return status === "approved" ? `${of}: approved and not applied for ${age(deps, decided_at!)}` : [];
  });
}

async function overdueTasks(deps: PulseDeps, ageClass: AgeClass): Promise<string[]> {
  const records = await deps.store.getMany(
    "tasks",
    (await overdueOf(deps, ageClass, OVERDUE_SHOWN)).map(({ id }) => id),
  );
  return records.flatMap((record) => {
    if (!record) return [];
    const { task_id, title, priority, created_at } = record.value.task;
    return `task ${code(task_id)} ${quoted(title)} (${priority}): open for ${age(deps, created_at)}`;
  });
}
