/** The trend of the levels of autonomy: how many decisions a day were left to whom. */
import * as z from "zod";
import type { PulseDeps } from "./deps.ts";
import { daysOf, lastDays } from "../kit/days.ts";
import { type Level, LEVEL_MEANINGS, LEVELS } from "../governance/rules/autonomy_level.ts";
import { tallyDays } from "../follow/tallies.ts";
import { sum, type Tally } from "../follow/tally.ts";

const countsSchema = z.object({
  L1: z.number().int(),
  L2: z.number().int(),
  L3: z.number().int(),
  L4: z.number().int(),
  L5: z.number().int(),
  /** Decisions by or on what was proposed by a name that is merely claimed, where the intent says who is who. */
  unattributed: z.number().int(),
});

export const trendSchema = z.object({
  levels: z.array(z.object({ level: z.enum(LEVELS), meaning: z.string() })),
  bucket: z.literal("day"),
  /** One a day, oldest first; a UTC day without a decision has zeros. */
  points: z.array(countsSchema.extend({ date: z.string() })),
  totals: countsSchema,
});

/** The counts of the last `days` UTC days, today included. */
export async function trendOf(deps: PulseDeps, days: number): Promise<z.infer<typeof trendSchema>> {
  const window = lastDays(deps.clock.now(), days);
  const tallies = await tallyDays(deps, window);
  return {
    levels: LEVELS.map((level) => ({ level, meaning: LEVEL_MEANINGS[level] })),
    bucket: "day",
    points: daysOf(window).map((date) => ({ date, ...countsOf(tallies.get(date) ?? {}) })),
    totals: countsOf(sum([...tallies.values()])),
  };
}

type Counted = Level | "unattributed";

/** The levels of a tally. */
export const countsOf = (tally: Tally): Record<Counted, number> =>
  Object.fromEntries(
    [...LEVELS, "unattributed" as const].map((level) => [level, tally[`level_${level}`] ?? 0]),
  ) as Record<Counted, number>;
