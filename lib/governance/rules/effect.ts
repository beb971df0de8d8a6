/** E, effect: the weighted mean of how far the KPIs are on their way from floor to target. */
import * as z from "zod";
import type { Intent } from "./intent.ts";
import { goalOf, type KpiState } from "./kpi.ts";

export const effectSchema = z.object({
  value: z.number().nullable(),
  parts: z.array(
    z.object({
      kpi: z.string(),
      value: z.number(),
      at: z.string(),
      baseline: z.number().nullable(),
      target: z.number().nullable(),
      weight: z.number().nullable(),
      /** `null` with a `reason` when the KPI does not count. */
      attainment: z.number().nullable(),
      reason: z.string().nullable(),
    }),
  ),
});

/** 0 to 1, or `null` without data, and what it was worked out from. */
export type Effect = z.infer<typeof effectSchema>;
/** One KPI's share of E. */
export type EffectPart = Effect["parts"][number];

/** E from the newest values. A KPI at its baseline scores 0.5: `floor = 2·baseline − target`. */
export function effectOf(state: KpiState, intent: Intent): Effect {
  const parts = Object.keys(state.values)
    .sort()
    .map((kpi) => partOf(kpi, state, intent));
  let sum = 0;
  let weights = 0;
  for (const { attainment, weight } of parts)
    if (attainment !== null && weight !== null) {
      sum += attainment * weight;
      weights += weight;
    }
  return { value: weights === 0 ? null : sum / weights, parts };
}

function partOf(kpi: string, state: KpiState, intent: Intent): EffectPart {
  const { value, at } = state.values[kpi]!;
  const { baseline = 0, target = null, weight = null } = goalOf(kpi, state, intent) ?? {};
  const part = { kpi, value, at, baseline, target, weight, attainment: null };
  if (target === null) return { ...part, reason: "its baseline is 0" };
  const floor = 2 * baseline - target;
  if (target === floor) return { ...part, reason: "its target is its baseline" };
  const attainment = Math.min(1, Math.max(0, (value - floor) / (target - floor)));
  if (!Number.isFinite(attainment)) return { ...part, reason: "its numbers are too large" };
  return { ...part, attainment, reason: null };
}
