/** Describes outcomes: movement, trend, caveats and verdict. */
import { describeGain, type GoodDirection, describePromise } from "./kpi_words.ts";
import { describeMeasured, type MeasuredKpi } from "./rollout_outcome.ts";

interface SharedMovement {
  realised_delta: number | null;
  shared_count: number;
  scope: "tenant" | "product" | "other_tenant" | null;
}

interface Movement extends SharedMovement {
  kpi: string | null;
  good: GoodDirection | null;
  expected_delta_k: number | null;
  measured?: readonly MeasuredKpi[] | undefined;
}

interface TrendMovement extends Movement {
  trend_before: number | null;
  trend_days: number | null;
}

/** Describes expected and measured movement in a sentence, with its caveats. */
export function describeMovement(outcome: Movement): string {
  const { kpi, good, expected_delta_k, realised_delta, measured } = outcome;
  if (measured) return describeMeasured(measured);
  if (kpi === null || good === null) return "The change names no KPI.";
  const promise =
    expected_delta_k === null ? "nothing was expected" : `expected ${describePromise(expected_delta_k, good)}`;
  const movement =
    realised_delta === null ? "not measured since the apply" : `it ${describeGain(realised_delta, good)}`;
  return `${kpi}: ${[promise, movement, ...listCaveats(outcome)].join(", ")}.`;
}

/** Describes an outcome as `describeMovement` does, with the KPI's trend before the apply. */
export function describeOutcome(outcome: TrendMovement): string {
  const { good, trend_before, trend_days, measured } = outcome;
  if (measured || good === null || trend_before === null) return describeMovement(outcome);
  return `${describeMovement(outcome)} In the ${trend_days} days before the apply it ${describeGain(trend_before, good)}.`;
}

/** Says whether an outcome shows a cause. */
export const describeBasis = ({ basis }: { basis: "correlation" | "measurement" }): string =>
  basis === "measurement"
    ? "This compares users with and without the change at the same time."
    : "This is a correlation, not a cause.";

/** Lists reasons why a measured movement may not be the effect of the change. */
export const listCaveats = (outcome: SharedMovement): string[] =>
  outcome.realised_delta === null
    ? []
    : [describeSharing(outcome), describeScope(outcome)].filter((words) => words !== "");

/** Describes a verdict in a few words. */
export function describeVerdict({ verdict, state }: { verdict: string; state: "open" | "final" }): string {
  if (verdict !== "too_early") return verdict;
  return state === "final" ? "ended too early to judge" : "too early to judge";
}

/** Says how many other changes share the movement; empty if none do. */
export const describeSharing = ({ shared_count: count }: Pick<SharedMovement, "shared_count">): string =>
  count === 0 ? "" : `shared with ${count} other${count === 1 ? "" : "s"}`;

/** Says whose KPI it is; empty if it is only of the change's tenant. */
function describeScope({ scope }: Pick<SharedMovement, "scope">): string {
  if (scope === "product") return "a KPI of the whole product";
  return scope === "other_tenant" ? "a KPI of another tenant" : "";
}
