/**
 * Figures of the governed product, from the records alone: they agree after a restart and between instances. Labels are
 * KPIs, dimensions and fixed words; never ids, tenants or names.
 */
// The whole of prom-client needs Node; its registry alone runs anywhere.
import Registry from "prom-client/lib/registry.js";
import { readHead } from "../audit/chain.ts";
import { reading } from "../follow/reading.ts";
import { totalTally } from "../follow/tallies.ts";
import type { Counter } from "../follow/tally.ts";
import { waiting } from "../follow/waiting.ts";
import { STATUSES } from "../governance/rules/change.ts";
import { VERDICTS } from "../governance/rules/outcome.ts";
import type { PulseDeps } from "./deps.ts";
import { figuresOf } from "./figures.ts";
import { TASK_STATUSES, taskCounts, taskStats } from "./tasks.ts";
import { countsOf } from "./trend.ts";

/** The content type of the text. */
export const PROMETHEUS_TYPE: string = Registry.PROMETHEUS_CONTENT_TYPE;

/** All metrics, in the order of the text; those that end in `_total` are counters, all others gauges. */
const HELP = {
  countersign_dimension_ratio: "E effect, M memory, R reliability, N need; absent without data.",
  countersign_reliability_low_ratio: "Lower end of R's 95 % interval.",
  countersign_reliability_high_ratio: "Upper end of R's 95 % interval.",
  countersign_kpi_value: "The last value fed.",
  countersign_kpi_attainment_ratio: "What the KPI adds to E.",
  countersign_kpi_goal_progress_ratio: "0 at the intent's baseline, 1 at its target.",
  countersign_kpi_last_fed_timestamp_seconds: "When the KPI was last fed.",
  countersign_changes: "Changes by status.",
  countersign_changes_proposed_total: "Changes proposed.",
  countersign_decisions_total: "Decisions on changes.",
  countersign_decisions_by_level_total: "Decisions by level of autonomy; L5 is drift.",
  countersign_applies_total: "Applies attempted.",
  countersign_rollbacks_total: "Rollbacks, by who asked.",
  countersign_rollback_failures_total: "Rollbacks that failed.",
  countersign_drift_episodes_total: "Times the host was found to no longer show a change.",
  countersign_outcomes_closed_total: "Final outcomes of applied changes.",
  countersign_kpi_feeds_total: "KPI feeds.",
  countersign_open_items: "What is open, by kind.",
  countersign_overdue_items: "What is overdue, by kind.",
  countersign_audit_entries_total: "Entries of the audit log.",
  countersign_audit_chain_valid: "1 while the audit chain holds as far as it was checked.",
  countersign_tasks: "Tasks by status.",
  countersign_task_mean_rating: "Mean of all ratings, 1 to 5.",
  countersign_cycles_total: "Cycles run.",
  countersign_last_cycle_timestamp_seconds: "When the last cycle ended.",
  countersign_notifications_failing: "1 while notifications do not get through.",
  countersign_peers: "Peers by state.",
  countersign_peer_logs_rewritten: "Peers whose audit log no longer continues what was kept of it.",
} as const;
type Name = keyof typeof HELP;

type Value = number | null | undefined;
type Samples = readonly { value: number; labels: Readonly<Record<string, string>> }[];

/** No sample where there is no data: a scrape must not read an invented 0. */
const known = (value: Value, labels = {}): Samples => (value == null ? [] : [{ value, labels }]);
/** One sample a member, labelled by its name. */
const by = (label: string, values: Readonly<Record<string, Value>>): Samples =>
  Object.entries(values).flatMap(([word, value]) => known(value, { [label]: word }));
const counted = <T extends string>(words: readonly T[], countOf: (word: T) => Value): Record<string, Value> =>
  Object.fromEntries(words.map((word) => [word, countOf(word) ?? 0]));
const ratio = (holds: boolean): number => (holds ? 1 : 0);
const seconds = (time: string): number => Date.parse(time) / 1000;

/** All metrics that have samples, as Prometheus text. */
export async function businessMetrics(deps: PulseDeps): Promise<string> {
  const registry = new Registry();
  for (const [name, values] of Object.entries(await samplesOf(deps)) as [Name, Samples][]) {
    const metric = { name, help: HELP[name], values, type: name.endsWith("_total") ? "counter" : "gauge" };
    if (values.length > 0) registry.registerMetric({ name, get: async () => metric });
  }
  return registry.metrics();
}

async function samplesOf(deps: PulseDeps): Promise<Record<Name, Samples>> {
  const { store, product, integrity, notifier, link } = deps;
  const [figures, total, tasks, head, tick, { state }, peers] = await Promise.all([
    figuresOf(deps),
    totalTally(deps),
    taskCounts(store),
    readHead(store),
    store.get("meta", "tick").then((stored) => stored?.value),
    reading(deps, waiting),
    link?.peers(),
  ]);
  const { effect, reliability, need, kpis, goals, values } = figures;
  const of = (counter: Counter): number => total[counter] ?? 0;
  const fed = (figure: (last: { value: number; at: string }) => number) =>
    by("kpi", Object.fromEntries(Object.entries(kpis.values).map(([kpi, last]) => [kpi, figure(last)])));
  return {
    countersign_dimension_ratio: by("dimension", values),
    countersign_reliability_low_ratio: known(reliability.interval?.low),
    countersign_reliability_high_ratio: known(reliability.interval?.high),
    countersign_kpi_value: fed(({ value }) => value),
    countersign_kpi_attainment_ratio: effect.parts.flatMap(({ kpi, attainment }) => known(attainment, { kpi })),
    countersign_kpi_goal_progress_ratio: goals.flatMap(({ kpi, progress }) => known(progress, { kpi })),
    countersign_kpi_last_fed_timestamp_seconds: fed(({ at }) => seconds(at)),
    countersign_changes: by(
      "status",
      counted(STATUSES, (status) => state.counts[status]),
    ),
    countersign_changes_proposed_total: known(Object.values(state.counts).reduce((sum, count) => sum + count, 0)),
    countersign_decisions_total: by(
      "decision",
      counted(["approved", "denied", "withdrawn", "expired", "minor"], (decision) => of(`decided_${decision}`)),
    ),
    countersign_decisions_by_level_total: by("level", countsOf(total)),
    countersign_applies_total: by("result", {
      applied: of("attempts") - of("attempts_apply_failed"),
      failed: of("attempts_apply_failed"),
    }),
    countersign_rollbacks_total: by("by", { person: of("rollbacks_person"), guardrail: of("rollbacks_guardrail") }),
    countersign_rollback_failures_total: known(of("rollbacks_failed")),
    countersign_drift_episodes_total: known(of("drift_episodes")),
    countersign_outcomes_closed_total: by(
      "verdict",
      counted(VERDICTS, (verdict) => of(`verdict_${verdict}`)),
    ),
    countersign_kpi_feeds_total: known(of("kpi_feeds")),
    countersign_open_items: need.items.flatMap(({ item, open }) => known(open, { item })),
    countersign_overdue_items: need.items.flatMap(({ item, overdue }) => known(overdue, { item })),
    countersign_audit_entries_total: known(head?.length),
    countersign_audit_chain_valid: known(product && ratio(!integrity.breach)),
    countersign_tasks: by(
      "status",
      counted(TASK_STATUSES, (status) => tasks.statuses[status]),
    ),
    countersign_task_mean_rating: known(taskStats(tasks).mean_rating),
    countersign_cycles_total: known(tick?.tick ?? 0),
    countersign_last_cycle_timestamp_seconds: known(tick && seconds(tick.at)),
    countersign_notifications_failing: known(notifier && ratio(notifier.problem() !== null)),
    countersign_peers: peers
      ? by(
          "state",
          counted(["up", "down", "unknown"], (word) => peers.filter((peer) => peer.state === word).length),
        )
      : [],
    countersign_peer_logs_rewritten: known(peers?.filter(({ log }) => log === "rewritten").length),
  };
}
