/** Outcomes as they stand at a moment, with the changes that share their movement. */
import type { Intent } from "../changes/rules/intent.ts";
import { type Outcome, outcomeOf, type OutcomeRecord } from "../changes/rules/outcome.ts";
import { newestApplied } from "./outcome_places.ts";
import type { outcomes } from "./outcomes.ts";
import type { Reading } from "./reading.ts";

/** A reading of the follower of outcomes. */
export type OutcomeReading = Reading<(typeof outcomes)["start"]>;

/** The outcomes of records, in their order: of each KPI the newest changes are looked at once. */
export async function outcomesAt(
  reads: Pick<OutcomeReading, "state" | "get" | "getMany" | "list" | "texts">,
  records: readonly OutcomeRecord[],
  intent: Pick<Intent, "kpis">,
  at: string,
): Promise<Outcome[]> {
  const { kpis, windows } = reads.state;
  const names = new Set(records.flatMap(({ kpi, final }) => (kpi === null || final ? [] : kpi)));
  const newest = new Map(
    await Promise.all([...names].map(async (kpi) => [kpi, await newestApplied(reads, kpi)] as const)),
  );
  return records.map((record) => {
    const after = (newest.get(record.kpi ?? "") ?? []).filter(({ entry }) => entry > record.applied_entry);
    const later = after.map(({ change_id }) => change_id);
    return outcomeOf(record, { kpis, windows, intent, later }, at);
  });
}
