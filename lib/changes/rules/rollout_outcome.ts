/** The outcome of a rollout: bounds of the difference between users with and without it, from the newest decision. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import type { Reading } from "../../rollout/rule.ts";
import type { Stages } from "../../rollout/stages.ts";
import type { OutcomeVerdict } from "./outcome_terms.ts";

export const measuredSchema = once(() =>
  z.object({
    kpi: z.string().describe("A watched KPI."),
    step: z.number().int().describe("Newest step with figures."),
    relative: z.literal(true).optional().describe("In parts of the control's mean."),
    worse_at_least: z.number().nullable().describe("Below 0: better; null: no bound."),
    worse_at_most: z.number().nullable().describe("The other bound."),
  }),
);
export type MeasuredKpi = z.infer<ReturnType<typeof measuredSchema>>;

/** Bounds of the KPIs of a rollout. */
export interface RolloutMeasure {
  kpis: MeasuredKpi[];
  /** A KPI is worse than allowed. */
  is_worse: boolean;
}

/** The measure of a rollout before its first feed. */
export const UNMEASURED: RolloutMeasure = { kpis: [], is_worse: false };

/** Takes the bounds of each KPI in its newest step from the readings of a decision. */
export const measureRollout = ({ watch }: Pick<Stages, "watch">, readings: readonly Reading[]): RolloutMeasure => ({
  kpis: watch.flatMap(({ kpi, allowed }) => {
    const newestReading = readings.findLast((reading) => reading.kpi === kpi && reading.treated !== undefined);
    if (!newestReading) return [];
    // An allowance that is an object is relative to the control's mean, and so are the bounds.
    const { step, worse_low: worse_at_least = null, worse_high: worse_at_most = null } = newestReading;
    return [
      { kpi, step, ...(typeof allowed === "object" && { relative: true as const }), worse_at_least, worse_at_most },
    ];
  }),
  is_worse: readings.some((reading) => reading.is_worse),
});

/**
 * Judges a rollout by its bounds. A KPI that is worse than allowed gives `regressed` even before the horizon; a gain counts
 * if a bound proves it.
 */
export function judgeRolloutOutcome(
  { kpi, expected_delta_k: expected }: { kpi: string | null; expected_delta_k: number | null },
  { kpis, is_worse }: RolloutMeasure,
  isDue: boolean,
): OutcomeVerdict {
  if (is_worse) return "regressed";
  if (!isDue) return "too_early";
  const measured = kpis.find((bounds) => bounds.kpi === kpi);
  // The expectation is in units of the KPI, with which relative bounds cannot be compared.
  if (!measured || measured.relative || expected === null) return "inconclusive";
  const { worse_at_least, worse_at_most } = measured;
  // The change gains at least `-worse_at_most` and at most `-worse_at_least`.
  if (worse_at_most !== null && -worse_at_most >= expected) return "met";
  return worse_at_least !== null && -worse_at_least < expected ? "missed" : "inconclusive";
}

/** Describes bounds in a sentence: never a bare estimate. */
export function describeMeasured(kpis: readonly MeasuredKpi[]): string {
  if (kpis.length === 0) return "Nothing was measured in its rollout yet.";
  const parts = kpis.map(({ kpi, relative, worse_at_least, worse_at_most }) => {
    const formatBound = (bound: number) =>
      relative ? `${round(Math.abs(bound) * 100)} %` : String(round(Math.abs(bound)));
    const bounds: string[] = [];
    if (worse_at_least !== null) {
      const amount = formatBound(worse_at_least);
      bounds.push(worse_at_least > 0 ? `at least ${amount} worse` : `at most ${amount} better`);
    }
    if (worse_at_most !== null) {
      const amount = formatBound(worse_at_most);
      bounds.push(worse_at_most < 0 ? `at least ${amount} better` : `at most ${amount} worse`);
    }
    return `${kpi} is ${bounds.join(" and ") || "without a bound yet"}`;
  });
  return `Measured against users without it: ${parts.join("; ")}.`;
}

const round = (value: number): number => Number(value.toPrecision(3));
