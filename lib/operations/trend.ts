/** The trend of the levels of autonomy: daily numbers of decisions by level. */
import * as z from "zod";
import type { OperationsDeps } from "./deps.ts";
import { listDays, lastDays } from "../kit/days.ts";
import { type AutonomyLevel, AUTONOMY_LEVEL_MEANINGS, AUTONOMY_LEVELS } from "../changes/rules/autonomy_level.ts";
import { readDailyCounts } from "../projections/daily_counts.ts";
import { type Counts, sumCounts } from "../projections/counts.ts";

const countsSchema = z.object({
  L1: z.number().int().describe("A person proposed and a person decided."),
  L2: z.number().int().describe("A person edited a model's draft and a person decided."),
  L3: z.number().int().describe("An agent, a model or a peer proposed and a person decided."),
  L4: z.number().int().describe("A standing rule or a mandate decided."),
  L5: z.number().int().describe("The host product changed with neither: drift."),
  unattributed: z.number().int().describe("Decisions on proposals under a name that is merely claimed."),
});

export const trendSchema = z.object({
  levels: z
    .array(
      z.object({
        level: z.enum(AUTONOMY_LEVELS).describe("Which level."),
        meaning: z
          .string()
          .meta({ description: "Description of the level.", examples: ["a human proposed and a human decided"] }),
      }),
    )
    .describe("Meaning of each level."),
  bucket: z.literal("day").describe("Period of one point, in UTC."),
  points: z
    .array(
      countsSchema.extend({ date: z.string().meta({ description: "The day, in UTC.", examples: ["2026-11-22"] }) }),
    )
    .describe("A row for each day, oldest first; zeros without a decision."),
  totals: countsSchema.describe("The sums over all days shown."),
});

/** Counts the decisions of the last `days` UTC days, including the current one. */
export async function computeTrend(deps: OperationsDeps, days: number): Promise<z.infer<typeof trendSchema>> {
  const window = lastDays(deps.clock.now(), days);
  const counts = await readDailyCounts(deps, window);
  return {
    levels: AUTONOMY_LEVELS.map((level) => ({ level, meaning: AUTONOMY_LEVEL_MEANINGS[level] })),
    bucket: "day",
    points: listDays(window).map((date) => ({ date, ...pickLevels(counts.get(date) ?? {}) })),
    totals: pickLevels(sumCounts([...counts.values()])),
  };
}

type CountedLevel = AutonomyLevel | "unattributed";

/** Picks the counts by level. */
export const pickLevels = (counts: Counts): Record<CountedLevel, number> =>
  Object.fromEntries(
    [...AUTONOMY_LEVELS, "unattributed" as const].map((level) => [level, counts[`level_${level}`] ?? 0]),
  ) as Record<CountedLevel, number>;
