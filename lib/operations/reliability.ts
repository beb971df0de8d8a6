/** R, reliability: the share of attempted applies that did not fail, with a confidence interval. */
import * as z from "zod";
import type { Window } from "../kit/days.ts";
import type { Counts } from "../projections/counts.ts";

/** The 97.5 % point of the normal distribution. */
const Z = 1.959963984540054;

export const reliabilitySchema = z.object({
  value: z.number().nullable().describe("R, from 0 to 1: 1 - failed / n; null when nothing was attempted."),
  from: z.string().meta({ description: "First UTC day that is looked at.", examples: ["2026-10-24"] }),
  to: z.string().meta({ description: "Last UTC day that is looked at.", examples: ["2026-11-22"] }),
  n: z.number().int().describe("Applies attempted within these days."),
  failed: z.number().int().describe("Number of failed ones; each counts once."),
  causes: z
    .object({
      adapter_failure: z.number().int().describe("The host product refused or did not confirm it."),
      rolled_back: z.number().int().describe("It was rolled back."),
      drifted: z.number().int().describe("The host product no longer had it."),
    })
    .describe("Causes; an attempt can have two."),
  interval: z
    .object({
      low: z.number().describe("Lower bound."),
      high: z.number().describe("Upper bound."),
      confidence: z.literal(0.95).describe("How sure that is."),
    })
    .nullable()
    .describe("Wilson score interval of the share that did not fail; null without attempts."),
});
export type Reliability = z.infer<typeof reliabilitySchema>;

/** Computes R over a window: `1 − failed ÷ n`, null if nothing was attempted. */
export function computeReliability(counts: Counts, window: Window): Reliability {
  const { attempts: n = 0, attempts_failed: failed = 0 } = counts;
  return {
    value: n === 0 ? null : 1 - failed / n,
    ...window,
    n,
    failed,
    causes: {
      adapter_failure: counts.attempts_apply_failed ?? 0,
      rolled_back: counts.attempts_rolled_back ?? 0,
      drifted: counts.attempts_drifted ?? 0,
    },
    interval: n === 0 ? null : { ...computeWilsonInterval(n - failed, n), confidence: 0.95 },
  };
}

/** Computes the Wilson score interval at 95 % for a share of successes; it is within 0 and 1 for any n above 0. */
export function computeWilsonInterval(successes: number, n: number): { low: number; high: number } {
  const share = successes / n;
  const scale = 1 + (Z * Z) / n;
  const center = share + (Z * Z) / (2 * n);
  const spread = Z * Math.sqrt((share * (1 - share)) / n + (Z * Z) / (4 * n * n));
  return { low: Math.max(0, (center - spread) / scale), high: Math.min(1, (center + spread) / scale) };
}
