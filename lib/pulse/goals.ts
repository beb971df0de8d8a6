/** The intent's goals: how far each KPI has come from its baseline to its target. */
import * as z from "zod";
import type { Intent, KpiGoal } from "../governance/rules/intent.ts";
import type { KpiState } from "../governance/rules/kpi.ts";

export const goalSchema = z.object({
  kpi: z.string(),
  baseline: z.number(),
  target: z.number(),
  current: z.number().nullable(),
  /** 0 at the baseline, 1 at the target; not clamped. */
  progress: z.number().nullable(),
  status: z.enum(["no_data", "behind", "on_track", "met"]),
});
export type Goal = z.infer<typeof goalSchema>;

/** One goal for each KPI that the intent names. */
export const goalsOf = (kpis: KpiState, intent: Intent): Goal[] =>
  Object.entries(intent.kpis).map(([kpi, goal]) => progressOf(kpi, kpis, goal));

function progressOf(kpi: string, kpis: KpiState, { baseline, target }: KpiGoal): Goal {
  const current = kpis.values[kpi]?.value ?? null;
  const progress = current === null || target === baseline ? null : (current - baseline) / (target - baseline);
  const status = progress === null ? "no_data" : progress >= 1 ? "met" : progress >= 0 ? "on_track" : "behind";
  return { kpi, baseline, target, current, progress, status };
}
