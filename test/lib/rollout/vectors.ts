/** Reads the vectors of the rule `cs1`, which name steps `stages` as proposals do. */
import type { Plan, WatchedKpi } from "../../../lib/rollout/plan.ts";
import type { RolloutState } from "../../../lib/rollout/rule.ts";
import vectors from "./vectors.json" with { type: "json" };

export type Vector = (typeof vectors.cases)[number];

export const readPlan = ({ plan: { stages, kpis, max_silent_hours } }: Vector): Plan => ({
  max_silent_hours,
  steps: stages as unknown as Plan["steps"],
  watch: kpis.map(({ name, allowed, relative, ...rest }: Record<string, unknown>) => ({
    ...rest,
    kpi: name,
    allowed: relative ? { relative: allowed } : allowed,
  })) as unknown as WatchedKpi[],
});

export const readState = ({ state: { stage, ...rest } }: Vector) =>
  ({ ...rest, step: stage }) as unknown as RolloutState;
