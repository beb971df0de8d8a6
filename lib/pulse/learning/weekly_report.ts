/** The report of a week, for somebody who reads it on Monday and was not there. */
import type { Tally } from "../../follow/tally.ts";
import { shownFreeze } from "../../governance/freeze.ts";
import type { Week } from "../../kit/days.ts";
import type { PulseDeps } from "../deps.ts";
import { type Figures, RELIABILITY_DAYS } from "../figures.ts";
import { code, image, list, page, share, table } from "../markdown.ts";
import { DIMENSIONS } from "../tasks.ts";
import { countsOf } from "../trend.ts";
import { changesTold, decidersTold, exceptionsTold, failuresTold } from "./changes_told.ts";
import { kpisTold } from "./kpis_told.ts";
import { dueTold, promisesTold, waitingTold } from "./standing_told.ts";
import { seeWeek } from "./week_seen.ts";

/** What happened in a week, by name; what waits and is due now; and how the values stand. */
export async function weeklyReport(
  deps: PulseDeps,
  week: Week,
  figures: Figures,
  drawn: { file: string; told: string },
): Promise<string> {
  const seen = await seeWeek(deps, week);
  const { memory, reliability } = figures;
  const intent = deps.product?.intent;
  const exceptions = exceptionsTold(seen);
  const deciders = decidersTold(seen);
  return page(
    `# Week ${week.name} (${week.from} to ${week.to})`,
    `Written ${new Date(deps.clock.now()).toISOString()}. What waits, what is due and the column “now” are as of then; all times are UTC.`,
    image(drawn.told, drawn.file),
    "## What waits, and for whom",
    intent && waitingTold(seen, intent),
    "## What became of promises",
    ...promisesTold(seen),
    "## What happened",
    list(happened(seen.tally)),
    ...changesTold(seen),
    seen.unseen > 0 ? `${seen.unseen} older entries of the week are not told of by name.` : undefined,
    "## Failures, rollbacks and drift",
    failuresTold(seen),
    exceptions && "## Refused proposals, freezes and emergencies",
    exceptions,
    "## KPIs",
    (await kpisTold(deps, week, figures)) ?? "No KPI was fed yet.",
    "## Due within seven days",
    intent && dueTold(seen, intent, (await shownFreeze(deps))?.until ?? null),
    "## Who did what",
    deciders,
    "Decisions by level of autonomy:",
    table(["level", "decisions"], Object.entries(countsOf(seen.tally))),
    "## Values",
    table(["", "before the week", "at its end", "now"], await valueRows(deps, week, figures)),
    `M looks back from ${memory.from}, R ${RELIABILITY_DAYS} days from ${reliability.from}.`,
    "## Goals",
    table(["KPI", "baseline", "target", "current", "deadline", "status"], goalRows(figures)),
    "Computed from the audit log, the records of changes and outcomes, the daily counts kept with the log, and the values as cycles found them.",
  );
}

const goalRows = ({ goals }: Figures): unknown[][] =>
  goals.map(({ kpi, baseline, target, current, deadline, status }) => [
    code(kpi),
    baseline,
    target,
    current ?? "no data",
    deadline ?? "–",
    status,
  ]);

function happened(tally: Tally): string[] {
  const of = (counter: keyof Tally): number => tally[counter] ?? 0;
  return [
    `proposed: ${of("proposed")}`,
    `decided: ${of("decided_approved")} approved, ${of("decided_denied")} denied, ${of("decided_withdrawn")} withdrawn, ${of("decided_expired")} expired, ${of("decided_revoked")} revoked, ${of("decided_lapsed")} lapsed, ${of("decided_minor")} minor`,
    `apply attempts: ${of("attempts")}, of which ${of("attempts_failed")} failed since`,
    `rollbacks: ${of("rollbacks_person")} by a person, ${of("rollbacks_guardrail")} by a guardrail, ${of("rollbacks_failed")} failed`,
    `closed: ${of("closed")}; verdicts: ${of("verdict_met")} met, ${of("verdict_missed")} missed, ${of("verdict_regressed")} regressed, ${of("verdict_too_early")} too early to judge, ${of("verdict_inconclusive")} inconclusive`,
    `drift: ${of("drift_episodes")} episodes`,
    `KPI feeds: ${of("kpi_feeds")}`,
  ];
}

/** The last values that a cycle found before the week, and within it. */
async function valueRows({ store }: PulseDeps, { from, to }: Week, { values }: Figures): Promise<string[][]> {
  const [within] = await store.list("values_days", { after: `${to}~`, limit: 1, reverse: true });
  const [before] = await store.list("values_days", { after: from, limit: 1, reverse: true });
  const end = within && within.id >= from ? within.value : undefined;
  return DIMENSIONS.map((name) => [
    name,
    ...[before?.value[name], end?.[name], values[name]].map((value) => share(value ?? null)),
  ]);
}
