/** The intent's goals: the progress of each KPI, its age, and its pace towards the deadline. */
import * as z from "zod";
import type { Intent, KpiGoal } from "../changes/rules/intent.ts";
import { goalDeadline, isStale, type KpiState } from "../changes/rules/kpi.ts";

/** Progress of a KPI from its baseline to its target. */
export const goalSchema = z.object({
  kpi: z.string().meta({ description: "Name of the KPI.", examples: ["nrr_quarterly"] }),
  baseline: z.number().describe("The value it starts from."),
  target: z.number().describe("The value it should reach."),
  current: z.number().nullable().describe("Its newest value; null before the first feed."),
  fed_at: z.string().nullable().describe("When that was fed; null before."),
  progress: z.number().nullable().describe("0 at the baseline, 1 at the target, not clamped; null without a value."),
  deadline: z.string().nullable().describe("By when it should be reached; null: at no time."),
  on_pace: z
    .boolean()
    .nullable()
    .describe("True if progress keeps up with the time to the deadline; null without one."),
  status: z
    .enum(["no_data", "stale", "behind", "under_way", "on_track", "met"])
    .describe("stale: not fed for 7 days; under_way: better than the baseline."),
});
type Goal = z.infer<typeof goalSchema>;

/** Lists the goals with their current progress; `firsts` has the first feed of each KPI. */
export const listGoals = (kpis: KpiState, firsts: KpiState, intent: Pick<Intent, "kpis">, now: number): Goal[] =>
  Object.entries(intent.kpis).map(([kpi, goal]) =>
    createGoal(kpi, { kpis, first_at: firsts.values[kpi]?.first_at }, goal, now),
  );

function createGoal(
  kpi: string,
  { kpis, first_at }: { kpis: KpiState; first_at: string | undefined },
  goal: KpiGoal,
  now: number,
): Goal {
  const { baseline, target, deadline = null } = goal;
  const { value: current = null, at: fed_at = null } = kpis.values[kpi] ?? {};
  const progress = current === null ? null : computeProgress(current, goal);
  const elapsed = computeElapsedShare(first_at ?? fed_at, goalDeadline(goal), now);
  const on_pace = progress === null || elapsed === null ? null : progress >= elapsed;
  const facts = { kpi, baseline, target, current, fed_at, progress, deadline, on_pace };
  if (progress === null || fed_at === null) return { ...facts, status: "no_data" };
  if (isStale(fed_at, now)) return { ...facts, status: "stale" };
  if (progress >= 1) return { ...facts, status: "met" };
  if (progress <= 0) return { ...facts, status: "behind" };
  if (on_pace === null) return { ...facts, status: "under_way" };
  return { ...facts, status: on_pace ? "on_track" : "behind" };
}

/** Returns the progress to a goal; a goal whose target is its baseline is either met (1) or not (0). */
const computeProgress = (current: number, { baseline, target }: KpiGoal): number =>
  target === baseline ? Number(current >= target) : (current - baseline) / (target - baseline);

/** Returns the elapsed share of the time from a first feed to the deadline; null without a deadline. */
function computeElapsedShare(since: string | null, deadline: number, now: number): number | null {
  if (since === null || deadline === Infinity) return null;
  const begun = Date.parse(since);
  return now >= deadline ? 1 : (now - begun) / (deadline - begun);
}
