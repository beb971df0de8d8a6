/** Measures outcomes at a moment, with the changes that share their movement. */
import type { Intent } from "../../changes/rules/intent.ts";
import { type Outcome, makeOutcome, type OutcomeRecord } from "../../changes/rules/outcome.ts";
import { listNewestApplied } from "./indexes.ts";
import type { outcomes } from "../outcomes.ts";
import type { Snapshot } from "../snapshot.ts";

/** Snapshot of the projection of outcomes. */
export type OutcomeSnapshot = Snapshot<(typeof outcomes)["start"]>;

/** Measures the outcomes of records, in their order; the newest changes of each KPI are read once. */
export async function measureOutcomes(
  reads: Pick<OutcomeSnapshot, "state" | "get" | "getMany" | "list" | "texts">,
  records: readonly OutcomeRecord[],
  intent: Pick<Intent, "kpis">,
  at: string,
): Promise<Outcome[]> {
  const { kpis, windows } = reads.state;
  const names = new Set(records.flatMap(({ kpi, final }) => (kpi === null || final ? [] : kpi)));
  const newest = new Map(
    await Promise.all([...names].map(async (kpi) => [kpi, await listNewestApplied(reads, kpi)] as const)),
  );
  return records.map((record) => {
    const after = (newest.get(record.kpi ?? "") ?? []).filter(({ entry }) => entry > record.applied_entry);
    const later = after.map(({ change_id }) => change_id);
    return makeOutcome(record, { kpis, counts: windows, intent, later }, at);
  });
}
