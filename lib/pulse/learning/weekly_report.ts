import type { PulseDeps } from "../deps.ts";
import type { Week } from "../../kit/days.ts";
import { type Figures, RELIABILITY_DAYS } from "../figures.ts";
import { code, list, page, share, table } from "../markdown.ts";
import { tallyDays } from "../../follow/tallies.ts";
import { sum, type Tally } from "../../follow/tally.ts";
import { DIMENSIONS } from "../tasks.ts";
import { countsOf } from "../trend.ts";

/** What happened in a week, and how the values stand. */
export async function weeklyReport(deps: PulseDeps, week: Week, figures: Figures): Promise<string> {
  const tally = sum([...(await tallyDays(deps, week)).values()]);
  const { memory, reliability } = figures;
  const goals = figures.goals.map(({ kpi, baseline, target, current, status }) => {
    return [code(kpi), baseline, target, current ?? "no data", status];
  });
  return page(
    `# Week ${week.name} (${week.from} to ${week.to})`,
    `Written ${new Date(deps.clock.now()).toISOString()}.`,
    "## What happened",
    list(happened(tally)),
    "## Who decided",
    table(["level", "decisions"], Object.entries(countsOf(tally))),
    "## Values",
    table(["", "before the week", "at its end", "now"], await valueRows(deps, week, figures)),
    `M looks back from ${memory.from}, R ${RELIABILITY_DAYS} days from ${reliability.from}.`,
    "## Goals",
    table(["KPI", "baseline", "target", "current", "status"], goals),
    "Computed from the daily counts kept with the audit log, and the values as cycles found them.",
  );
}

function happened(tally: Tally): string[] {
  const of = (counter: keyof Tally): number => tally[counter] ?? 0;
  return [
    `proposed: ${of("proposed")}`,
    `decided: ${of("decided_approved")} approved, ${of("decided_denied")} denied, ${of("decided_withdrawn")} withdrawn, ${of("decided_expired")} expired, ${of("decided_revoked")} revoked, ${of("decided_lapsed")} lapsed, ${of("decided_minor")} minor`,
    `apply attempts: ${of("attempts")}, of which ${of("attempts_failed")} failed since`,
    `rollbacks: ${of("rollbacks_person")} by a person, ${of("rollbacks_guardrail")} by a guardrail, ${of("rollbacks_failed")} failed`,
    `closed: ${of("closed")}; verdicts: ${of("verdict_met")} met, ${of("verdict_missed")} missed, ${of("verdict_regressed")} regressed, ${of("verdict_inconclusive")} inconclusive`,
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
