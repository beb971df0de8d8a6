/** E, effect: the weighted mean of the KPIs' progress from floor to target. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import type { Intent } from "./intent.ts";
import { findGoal, isStale, type KpiState } from "./kpi.ts";

export const effectSchema = once(() =>
  z.object({
    value: z.number().nullable().describe("E, from 0 to 1; null without data."),
    parts: z
      .array(
        z.object({
          kpi: z.string().meta({ description: "Name of the KPI.", examples: ["nrr_quarterly"] }),
          value: z.number().describe("Its newest value."),
          at: z.string().meta({ description: "When that was fed.", format: "date-time" }),
          stale: z.boolean().describe("Whether that was more than 7 days ago; it counts all the same."),
          baseline: z.number().nullable().describe("The value it starts from; null when not known."),
          target: z.number().nullable().describe("The value it should reach; null when not known."),
          weight: z.number().nullable().describe("Its weight in the mean; null when it does not count."),
          attainment: z
            .number()
            .nullable()
            .describe("0 to 1: 0.5 at the baseline, 1 at the target; null when it does not count."),
          reason: z.string().nullable().describe("Why it does not count; null when it does."),
        }),
      )
      .describe("The share of each fed KPI."),
  }),
);

/** E from 0 to 1, or `null` without data, and the KPIs that it is computed from. */
export type Effect = z.infer<ReturnType<typeof effectSchema>>;
/** One KPI's share of E. */
export type EffectPart = Effect["parts"][number];

/** Computes E from the newest values, also from stale ones. A KPI at its baseline scores 0.5: `floor = 2·baseline − target`. */
export function computeEffect(state: KpiState, intent: Intent, now: number): Effect {
  const parts = Object.keys(state.values)
    .sort()
    .map((kpi) => measurePart(kpi, state, intent, now));
  let sum = 0;
  let weights = 0;
  for (const { attainment, weight } of parts)
    if (attainment !== null && weight !== null) {
      sum += attainment * weight;
      weights += weight;
    }
  return { value: weights === 0 ? null : sum / weights, parts };
}

function measurePart(kpi: string, state: KpiState, intent: Intent, now: number): EffectPart {
  const { value, at } = state.values[kpi]!;
  const { baseline = 0, target = null, weight = null } = findGoal(kpi, state, intent) ?? {};
  const part = { kpi, value, at, stale: isStale(at, now), baseline, target, weight, attainment: null };
  // A fed KPI has no goal only if the intent states none and its first value is 0.
  if (target === null) return { ...part, reason: "its baseline is 0" };
  const floor = 2 * baseline - target;
  if (target === floor) return { ...part, reason: "its target is its baseline" };
  const attainment = Math.min(1, Math.max(0, (value - floor) / (target - floor)));
  if (!Number.isFinite(attainment)) return { ...part, reason: "its numbers are too large" };
  return { ...part, attainment, reason: null };
}
