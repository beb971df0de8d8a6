/**
 * Figures of the governed product. They come from the store, so they are the same after a restart and in every instance; only
 * current failures and calls of the language model are those of this process. Labels are KPIs, dimensions, configured witnesses
 * and fixed words, never ids, tenants or names of people.
 */
// prom-client needs Node, but its registry alone runs on every platform.
import Registry from "prom-client/lib/registry.js";
import { readCurrentHead } from "../audit/chain.ts";
import { readWitnessStates } from "../audit/request_cosignatures.ts";
import { readProjection } from "../projections/snapshot.ts";
import { readTotalCounts } from "../projections/daily_counts.ts";
import type { Counter } from "../projections/counts.ts";
import { waiting } from "../projections/waiting.ts";
import { listKnownMismatches } from "../changes/integrity_scan.ts";
import { RESOLUTIONS, STATUSES } from "../changes/rules/change.ts";
import { VERDICTS } from "../changes/rules/outcome.ts";
import type { OperationsDeps } from "./deps.ts";
import { computeFigures } from "./figures.ts";
import { writeProof } from "../store/write_proof.ts";
import { TASK_STATUSES, readTaskCounts, computeTaskStats } from "./tasks.ts";
import { pickLevels } from "./trend.ts";

export const PROMETHEUS_TYPE: string = Registry.PROMETHEUS_CONTENT_TYPE;

/** All metrics, each `countersign_<name>`; those that end in `_total` are counters, all others gauges. */
const HELP = {
  dimension_ratio: "E effect, M memory, R reliability, N need; absent without data.",
  reliability_low_ratio: "Lower end of R's 95 % interval.",
  reliability_high_ratio: "Upper end of R's 95 % interval.",
  kpi_value: "The last value fed.",
  kpi_attainment_ratio: "0.5 at the KPI's baseline, 1 at its target; E is the weighted mean.",
  kpi_goal_progress_ratio: "0 at the intent's baseline, 1 at its target.",
  kpi_last_fed_timestamp_seconds: "When the KPI was last fed.",
  changes: "Changes by status.",
  changes_proposed_total: "Changes proposed.",
  decisions_total: "Decisions on changes.",
  decisions_by_level_total: "Decisions by level of autonomy; L5 is drift.",
  applies_total: "Applies attempted.",
  rollbacks_total: "Rollbacks, by who asked.",
  rollback_failures_total: "Rollbacks that failed.",
  drift_episodes_total: "Times the host was found to no longer show a change.",
  oldest_verified_timestamp_seconds: "Each managed place was verified since then.",
  outcomes_closed_total: "Final outcomes of applied changes.",
  kpi_feeds_total: "KPI feeds.",
  open_items: "What is open, by kind.",
  overdue_items: "What is overdue, by kind.",
  audit_entries_total: "Entries of the audit log.",
  witness_cosigned_entries: "How many entries of the audit log a witness saw last.",
  witness_cosigned_timestamp_seconds: "When a witness cosigned last, by its own clock.",
  audit_chain_valid: "1 while the audit chain holds as far as it was checked, and no file that holds it is damaged.",
  sealed_damage: "Files of the store that are damaged.",
  compaction_failed: "1 while erased and superseded records cannot be removed from the store's files.",
  store_free_bytes: "Bytes that can still be written where the store's files lie.",
  writes_taken: "1 while the last proof that writes are taken succeeded; absent where the process may not write.",
  evidence_mismatches: "Changes of which something is stored that the audit log does not tell, as far as is known.",
  tasks: "Tasks by status.",
  task_mean_rating: "Mean of all ratings, 1 to 5.",
  cycles_total: "Cycles run.",
  last_cycle_timestamp_seconds: "When the last cycle ended.",
  llm_calls_total: "Calls of the language model by this process.",
  llm_calls_under_way: "Calls of the language model under way in this process.",
  llm_calls_refused_total: "Calls that this process did not make, by the bound that was reached.",
  notifications_failing: "1 while notifications do not get through.",
  peers: "Peers by state.",
  peer_logs_rewritten: "Peers whose audit log no longer continues what was kept of it.",
} as const;
type Name = keyof typeof HELP;

type Value = number | null | undefined;
type Samples = readonly { value: number; labels: Readonly<Record<string, string>> }[];

/** Returns one sample, or none without data, since 0 would be wrong. */
const toSamples = (value: Value, labels = {}): Samples =>
  value == null || !Number.isFinite(value) ? [] : [{ value, labels }];
/** Returns a sample for each member, labelled by its name. */
const labelSamples = (label: string, values: Readonly<Record<string, Value>>): Samples =>
  Object.entries(values).flatMap(([word, value]) => toSamples(value, { [label]: word }));
/** Returns the value of each word; 0 for a word without one. */
const mapWords = <T extends string>(words: readonly T[], countOf: (word: T) => Value): Record<string, Value> =>
  Object.fromEntries(words.map((word) => [word, countOf(word) ?? 0]));
const toSeconds = (time: string): number => Date.parse(time) / 1000;

/** Formats all metrics that have samples as Prometheus text. */
export async function formatBusinessMetrics(deps: OperationsDeps): Promise<string> {
  const registry = new Registry();
  for (const [shortName, values] of Object.entries(await collectSamples(deps)) as [Name, Samples][]) {
    const name = `countersign_${shortName}`;
    const metric = { name, help: HELP[shortName], values, type: name.endsWith("_total") ? "counter" : "gauge" };
    if (values.length > 0) registry.registerMetric({ name, get: () => metric });
  }
  return registry.metrics();
}

async function collectSamples(deps: OperationsDeps): Promise<Record<Name, Samples>> {
  const { store, product, integrity, notifier, link, llm } = deps;
  const llmUse = llm?.usage?.();
  const faults = store.faults?.();
  const [figures, total, tasks, head, tick, { state }, peers, witnesses, writes, verified] = await Promise.all([
    computeFigures(deps),
    readTotalCounts(deps),
    readTaskCounts(store),
    readCurrentHead(deps),
    store.get("meta", "tick").then((stored) => stored?.value),
    readProjection(deps, waiting),
    link?.peers(),
    readWitnessStates(deps),
    deps.readsOnly ? undefined : writeProof(deps),
    store.get("meta", "drift").then((stored) => stored?.value.oldest_verified_at),
  ]);
  const { effect, reliability, need, kpis, goals, values } = figures;
  const readCount = (counter: Counter): number => total[counter] ?? 0;
  const fed = Object.entries(kpis.values);
  return {
    dimension_ratio: labelSamples("dimension", values),
    reliability_low_ratio: toSamples(reliability.interval?.low),
    reliability_high_ratio: toSamples(reliability.interval?.high),
    kpi_value: fed.flatMap(([kpi, { value }]) => toSamples(value, { kpi })),
    kpi_attainment_ratio: effect.parts.flatMap(({ kpi, attainment }) => toSamples(attainment, { kpi })),
    kpi_goal_progress_ratio: goals.flatMap(({ kpi, progress }) => toSamples(progress, { kpi })),
    kpi_last_fed_timestamp_seconds: fed.flatMap(([kpi, { at }]) => toSamples(toSeconds(at), { kpi })),
    changes: labelSamples(
      "status",
      mapWords(STATUSES, (status) => state.counts[status]),
    ),
    changes_proposed_total: toSamples(Object.values(state.counts).reduce((sum, count) => sum + count, 0)),
    decisions_total: labelSamples(
      "decision",
      mapWords(["approved", ...RESOLUTIONS, "minor"] as const, (decision) => readCount(`decided_${decision}`)),
    ),
    decisions_by_level_total: labelSamples("level", pickLevels(total)),
    applies_total: labelSamples("result", {
      applied: readCount("attempts") - readCount("attempts_apply_failed"),
      failed: readCount("attempts_apply_failed"),
    }),
    rollbacks_total: labelSamples(
      "by",
      mapWords(["person", "guardrail", "rollout"] as const, (cause) => readCount(`rollbacks_${cause}`)),
    ),
    rollback_failures_total: toSamples(readCount("rollbacks_failed")),
    drift_episodes_total: toSamples(readCount("drift_episodes")),
    oldest_verified_timestamp_seconds: toSamples(verified ? toSeconds(verified) : null),
    outcomes_closed_total: labelSamples(
      "verdict",
      mapWords(VERDICTS, (verdict) => readCount(`verdict_${verdict}`)),
    ),
    kpi_feeds_total: toSamples(readCount("kpi_feeds")),
    open_items: need.items.flatMap(({ item, open }) => toSamples(open, { item })),
    overdue_items: need.items.flatMap(({ item, overdue }) => toSamples(overdue, { item })),
    audit_entries_total: toSamples(head?.length),
    witness_cosigned_entries: witnesses.flatMap(({ witness, state: cosigned }) =>
      toSamples(cosigned.length, { witness: witness.key.name }),
    ),
    // `at` is empty before a witness's first cosignature.
    witness_cosigned_timestamp_seconds: witnesses.flatMap(({ witness, state: cosigned }) =>
      toSamples(cosigned.at === "" ? null : toSeconds(cosigned.at), { witness: witness.key.name }),
    ),
    writes_taken: toSamples(writes && Number(writes.ok)),
    audit_chain_valid: toSamples(product && Number(!integrity.breach && !faults?.damaged.length)),
    sealed_damage: toSamples(faults?.damaged.length),
    compaction_failed: toSamples(faults && Number(faults.compaction !== null)),
    store_free_bytes: toSamples(faults?.free_bytes),
    evidence_mismatches: toSamples(product && listKnownMismatches(integrity).size),
    tasks: labelSamples(
      "status",
      mapWords(TASK_STATUSES, (status) => tasks.statuses[status]),
    ),
    task_mean_rating: toSamples(computeTaskStats(tasks).mean_rating),
    cycles_total: toSamples(tick?.tick ?? 0),
    last_cycle_timestamp_seconds: toSamples(tick && toSeconds(tick.at)),
    llm_calls_total: toSamples(llmUse?.calls),
    llm_calls_under_way: toSamples(llmUse?.under_way),
    llm_calls_refused_total: labelSamples("bound", llmUse?.refused ?? {}),
    notifications_failing: toSamples(notifier && Number(notifier.problem() !== null)),
    peers: peers
      ? labelSamples(
          "state",
          mapWords(["up", "down", "unknown"], (word) => peers.filter((peer) => peer.state === word).length),
        )
      : [],
    peer_logs_rewritten: toSamples(peers?.filter(({ log }) => log === "rewritten").length),
  };
}
