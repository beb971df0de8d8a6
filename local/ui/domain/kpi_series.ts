/** Values of each KPI, from the audit log, and outcomes of changes. */
import { STANDARD_KPIS } from "../../../lib/changes/rules/change_terms.ts";
import { parseDetail } from "../../../lib/changes/rules/event.ts";
import type { AuditEntry, AuditPage, State, Outcome } from "../core/api_types.ts";
import { get } from "../core/api.ts";

/** A value of a KPI; `at` in seconds, `entry` is the number of its log entry. */
export interface KpiPoint {
  at: number;
  value: number;
  entry: number;
}

/** The values of each KPI, oldest first. */
export type KpiSeries = Readonly<Record<string, readonly KpiPoint[]>>;

export async function readKpiSeries(signal: AbortSignal): Promise<KpiSeries> {
  const page = await get<AuditPage>("api/product/audit", { event_type: "kpi_refreshed", limit: 1000 }, signal);
  return makeSeries(page.entries);
}

function makeSeries(entries: readonly AuditEntry[]): KpiSeries {
  const series: Record<string, KpiPoint[]> = Object.create(null); // a KPI may be named constructor
  for (const entry of entries) {
    const values = parseDetail(entry.detail).values;
    if (typeof values !== "object" || values === null) continue;
    for (const [kpi, value] of Object.entries(values))
      if (typeof value === "number")
        (series[kpi] ??= []).push({ at: Date.parse(entry.timestamp) / 1000, value, entry: entry.id });
  }
  return series;
}

const DOWN_IS_GOOD: readonly string[] = ["sales_cycle_days_p50", "incident_rate"];

/** Returns +1 if a higher value is better, -1 if a lower one is, by the intent's goal or else by the KPI's name. */
export function findGoalDirection(kpi: string, goals: State["goals"]): 1 | -1 {
  const goal = goals.find((candidate) => candidate.kpi === kpi);
  if (goal) return goal.target >= goal.baseline ? 1 : -1;
  return DOWN_IS_GOOD.includes(kpi) ? -1 : 1;
}

/** Lists the KPIs that a form offers: those of the product, or the standard ones if it has none. */
export const listOfferedKpis = (own: readonly string[]): readonly string[] => (own.length > 0 ? own : STANDARD_KPIS);

export const readOutcomes = (signal: AbortSignal): Promise<{ outcomes: Outcome[]; next: string | null }> =>
  get("api/product/outcomes", { limit: 200 }, signal);
