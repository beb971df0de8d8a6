/**
 * Figures of the governed product, from the records alone: they agree after a restart and between instances. Labels are
 * KPIs, dimensions and fixed words; never ids, tenants or names.
 */
import { readHead } from "../audit/chain.ts";
import type { PulseDeps } from "./deps.ts";
import { STATUSES } from "../governance/rules/change.ts";
import type { PeerState } from "./ports.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { goalsOf } from "./goals.ts";
import { LEVELS } from "../governance/rules/autonomy_level.ts";
import type { Family } from "./prometheus_text.ts";
import { reading } from "../follow/reading.ts";
import { totalTally } from "../follow/tallies.ts";
import type { Counter, Tally } from "../follow/tally.ts";
import { type StatusCounts, waiting } from "../follow/waiting.ts";
import { TASK_STATUSES, type TaskCounts, taskCounts } from "./tasks.ts";
import { countsOf } from "./trend.ts";

type Samples = Family["samples"];

const gauge = (name: string, help: string, samples: Samples): Family => ({ name, type: "gauge", help, samples });
const counter = (name: string, help: string, samples: Samples): Family => ({ name, type: "counter", help, samples });
/** No sample where there is no data: a scrape must not read an invented 0. */
const known = (value: number | null | undefined): Samples => (value === null || value === undefined ? [] : [[value]]);
const seconds = (time: string | null | undefined): Samples => known(time ? Date.parse(time) / 1000 : null);

/** All families, in a fixed order. */
export async function businessMetrics(deps: PulseDeps): Promise<Family[]> {
  const { store, product, integrity } = deps;
  const [figures, total, tasks, head, tick, waits] = await Promise.all([
    figuresOf(deps),
    totalTally(deps),
    taskCounts(store),
    readHead(store),
    store.get("meta", "tick"),
    reading(deps, waiting),
  ]);
  return [
    ...dimensions(figures),
    ...kpis(figures, deps),
    ...changes(waits.state.counts, total),
    ...need(figures),
    counter("countersign_audit_entries_total", "Entries of the audit log.", known(head?.length)),
    gauge(
      "countersign_audit_chain_valid",
      "1 while the audit chain holds as far as it was checked.",
      known(product ? (integrity.breach ? 0 : 1) : null),
    ),
    ...taskFamilies(tasks),
    counter("countersign_cycles_total", "Cycles run.", known(tick?.value.tick ?? 0)),
    gauge("countersign_last_cycle_timestamp_seconds", "When the last cycle ended.", seconds(tick?.value.at)),
    gauge(
      "countersign_notifications_failing",
      "1 while notifications do not get through.",
      known(deps.notifier ? (deps.notifier.problem() === null ? 0 : 1) : null),
    ),
    ...(deps.link ? peerFamilies(await deps.link.peers()) : []),
  ];
}

function peerFamilies(peers: readonly PeerState[]): Family[] {
  const states = ["up", "down", "unknown"] as const;
  const inState = (state: PeerState["state"]): number => peers.filter((peer) => peer.state === state).length;
  return [
    gauge(
      "countersign_peers",
      "Peers by state.",
      states.map((state) => [inState(state), { state }]),
    ),
    gauge(
      "countersign_peer_logs_rewritten",
      "Peers whose audit log no longer continues what was kept of it.",
      known(peers.filter(({ log }) => log === "rewritten").length),
    ),
  ];
}

function dimensions({ effect, memory, reliability, need: { value } }: Figures): Family[] {
  const values = { E: effect.value, M: memory.value, R: reliability.value, N: value };
  return [
    gauge(
      "countersign_dimension_ratio",
      "E effect, M memory, R reliability, N need; absent without data.",
      Object.entries(values).flatMap(([dimension, one]) => (one === null ? [] : [[one, { dimension }] as const])),
    ),
    gauge("countersign_reliability_low_ratio", "Lower end of R's 95 % interval.", known(reliability.interval?.low)),
    gauge("countersign_reliability_high_ratio", "Upper end of R's 95 % interval.", known(reliability.interval?.high)),
  ];
}

function kpis({ kpis: { values, last_at }, effect }: Figures, { product }: PulseDeps): Family[] {
  const parts = effect.parts.filter(({ attainment }) => attainment !== null);
  const goals = product ? goalsOf({ values, last_at }, product.intent) : [];
  return [
    gauge(
      "countersign_kpi_value",
      "The last value fed.",
      Object.entries(values).map(([kpi, { value }]) => [value, { kpi }]),
    ),
    gauge(
      "countersign_kpi_attainment_ratio",
      "What the KPI adds to E.",
      parts.map(({ kpi, attainment }) => [attainment!, { kpi }]),
    ),
    gauge(
      "countersign_kpi_goal_progress_ratio",
      "0 at the intent's baseline, 1 at its target.",
      goals.flatMap(({ kpi, progress }) => (progress === null ? [] : [[progress, { kpi }] as const])),
    ),
    gauge(
      "countersign_kpi_last_fed_timestamp_seconds",
      "When the KPI was last fed.",
      Object.entries(values).map(([kpi, { at }]) => [Date.parse(at) / 1000, { kpi }]),
    ),
  ];
}

function changes(counts: StatusCounts, total: Tally): Family[] {
  const of = (name: Counter): number => total[name] ?? 0;
  const by = (label: string, names: Record<string, Counter>): Samples =>
    Object.entries(names).map(([word, name]) => [of(name), { [label]: word }]);
  const proposed = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return [
    gauge(
      "countersign_changes",
      "Changes by status.",
      STATUSES.map((status) => [counts[status] ?? 0, { status }]),
    ),
    counter("countersign_changes_proposed_total", "Changes proposed.", [[proposed]]),
    counter(
      "countersign_decisions_total",
      "Decisions on changes.",
      by("decision", {
        approved: "decided_approved",
        denied: "decided_denied",
        withdrawn: "decided_withdrawn",
        expired: "decided_expired",
        minor: "decided_minor",
      }),
    ),
    counter(
      "countersign_decisions_by_level_total",
      "Decisions by level of autonomy; L5 is drift.",
      LEVELS.map((level) => [countsOf(total)[level], { level }]),
    ),
    counter("countersign_applies_total", "Applies attempted.", [
      [of("attempts") - of("attempts_apply_failed"), { result: "applied" }],
      [of("attempts_apply_failed"), { result: "failed" }],
    ]),
    counter(
      "countersign_rollbacks_total",
      "Rollbacks, by who asked.",
      by("by", { person: "rollbacks_person", guardrail: "rollbacks_guardrail" }),
    ),
    counter("countersign_rollback_failures_total", "Rollbacks that failed.", [[of("rollbacks_failed")]]),
    counter("countersign_drift_episodes_total", "Times the host was found to no longer show a change.", [
      [of("drift_episodes")],
    ]),
    counter(
      "countersign_outcomes_closed_total",
      "Final outcomes of applied changes.",
      by("verdict", {
        met: "verdict_met",
        missed: "verdict_missed",
        regressed: "verdict_regressed",
        inconclusive: "verdict_inconclusive",
      }),
    ),
    counter("countersign_kpi_feeds_total", "KPI feeds.", [[of("kpi_feeds")]]),
  ];
}

function need({ need: { items } }: Figures): Family[] {
  return [
    gauge(
      "countersign_open_items",
      "What is open, by kind.",
      items.map(({ item, open }) => [open, { item }]),
    ),
    gauge(
      "countersign_overdue_items",
      "What is overdue, by kind.",
      items.map(({ item, overdue }) => [overdue, { item }]),
    ),
  ];
}

function taskFamilies(tasks: TaskCounts): Family[] {
  const { statuses, ratings, rating_sum } = tasks;
  return [
    gauge(
      "countersign_tasks",
      "Tasks by status.",
      TASK_STATUSES.map((status) => [statuses[status] ?? 0, { status }]),
    ),
    gauge(
      "countersign_task_mean_rating",
      "Mean of all ratings, 1 to 5.",
      known(ratings === 0 ? null : rating_sum / ratings),
    ),
  ];
}
