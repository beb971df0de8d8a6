/** R, reliability: of the applies that were attempted, how many did not fail, and how sure that is. */
import * as z from "zod";
import type { Window } from "../kit/days.ts";
import type { Tally } from "../follow/tally.ts";

/** The 97.5 % point of the normal distribution. */
const Z = 1.959963984540054;

export const reliabilitySchema = z.object({
  value: z.number().nullable(),
  from: z.string(),
  to: z.string(),
  /** Applies attempted within the window, and those of them that failed; each failed attempt counts once. */
  n: z.number().int(),
  failed: z.number().int(),
  /** An attempt that drifted and was then rolled back shows under both. */
  causes: z.object({
    adapter_failure: z.number().int(),
    rolled_back: z.number().int(),
    drifted: z.number().int(),
  }),
  /** Wilson score interval of the share that did not fail. */
  interval: z.object({ low: z.number(), high: z.number(), confidence: z.literal(0.95) }).nullable(),
});
export type Reliability = z.infer<typeof reliabilitySchema>;

/** R over a window: `1 − failed ÷ n`, `null` when nothing was attempted. */
export function reliabilityOf(tally: Tally, window: Window): Reliability {
  const { attempts: n = 0, attempts_failed: failed = 0 } = tally;
  return {
    value: n === 0 ? null : 1 - failed / n,
    ...window,
    n,
    failed,
    causes: {
      adapter_failure: tally.attempts_apply_failed ?? 0,
      rolled_back: tally.attempts_rolled_back ?? 0,
      drifted: tally.attempts_drifted ?? 0,
    },
    interval: n === 0 ? null : { ...wilson(n - failed, n), confidence: 0.95 },
  };
}

/** The Wilson score interval at 95 % for a share of successes; it stays within 0 and 1 for any n above 0. */
export function wilson(successes: number, n: number): { low: number; high: number } {
  const share = successes / n;
  const scale = 1 + (Z * Z) / n;
  const centre = share + (Z * Z) / (2 * n);
  const spread = Z * Math.sqrt((share * (1 - share)) / n + (Z * Z) / (4 * n * n));
  return { low: Math.max(0, (centre - spread) / scale), high: Math.min(1, (centre + spread) / scale) };
}
