/** E, M, R and N as the records tell them now, each with what it was worked out from. */
import * as z from "zod";
import type { PulseDeps } from "./deps.ts";
import type { KpiGoal } from "../governance/rules/intent.ts";
import { type KpiState, NO_KPIS } from "../governance/rules/kpi.ts";
import { lastDays } from "../kit/days.ts";
import { type Effect, effectOf } from "../governance/rules/effect.ts";
import { type Need, needOf } from "./need.ts";
import { outcomes } from "../follow/outcomes.ts";
import { reading } from "../follow/reading.ts";
import { type Memory, MEMORY_DAYS, memoryOf } from "../follow/record_keeping.ts";
import { type Reliability, reliabilityOf } from "./reliability.ts";
import { tallyWithin } from "../follow/tallies.ts";

/** How many UTC days, today included, R looks back. */
export const RELIABILITY_DAYS = 30;

/** One of the intent's goals: how far its KPI has come from its baseline to its target. */
export const goalSchema = z.object({
  kpi: z.string(),
  baseline: z.number(),
  target: z.number(),
  current: z.number().nullable(),
  /** 0 at the baseline, 1 at the target; not clamped. */
  progress: z.number().nullable(),
  status: z.enum(["no_data", "behind", "on_track", "met"]),
});
type Goal = z.infer<typeof goalSchema>;

/** The four dimensions. */
export interface Figures {
  kpis: KpiState;
  goals: Goal[];
  effect: Effect;
  memory: Memory;
  reliability: Reliability;
  need: Need;
  /** The value of each. */
  values: { E: number | null; M: number | null; R: number | null; N: number };
}

/** Works the dimensions out, from small records only. */
export async function figuresOf(deps: PulseDeps): Promise<Figures> {
  const { store, clock, product } = deps;
  const now = clock.now();
  const window = lastDays(now, MEMORY_DAYS);
  const recent = lastDays(now, RELIABILITY_DAYS);
  const [stored, [closed, attempted], { state }] = await Promise.all([
    store.get("kpi", "latest"),
    tallyWithin(deps, window, recent),
    reading(deps, outcomes),
  ]);
  const kpis = stored?.value ?? NO_KPIS;
  const effect = product ? effectOf(kpis, product.intent) : { value: null, parts: [] };
  const memory = memoryOf(state.gaps, closed!, window);
  const reliability = reliabilityOf(attempted!, recent);
  const need = await needOf(deps, effect);
  const values = { E: effect.value, M: memory.value, R: reliability.value, N: need.value };
  const goals = Object.entries(product?.intent.kpis ?? {}).map(([kpi, goal]) => goalOf(kpi, kpis, goal));
  return { kpis, goals, effect, memory, reliability, need, values };
}

function goalOf(kpi: string, kpis: KpiState, { baseline, target }: KpiGoal): Goal {
  const current = kpis.values[kpi]?.value ?? null;
  const progress = current === null || target === baseline ? null : (current - baseline) / (target - baseline);
  const status = progress === null ? "no_data" : progress >= 1 ? "met" : progress >= 0 ? "on_track" : "behind";
  return { kpi, baseline, target, current, progress, status };
}
