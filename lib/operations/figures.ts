/** Computes E, M, R and N from the current records, each with the figures behind it. */
import type { OperationsDeps } from "./deps.ts";
import { type KpiState, NO_KPIS } from "../changes/rules/kpi.ts";
import { lastDays } from "../kit/days.ts";
import { type Effect, computeEffect } from "../changes/rules/effect.ts";
import { listGoals } from "./goals.ts";
import { type Need, computeNeed } from "./need.ts";
import { outcomes } from "../projections/outcomes.ts";
import { readProjection } from "../projections/snapshot.ts";
import { type Memory, MEMORY_DAYS, computeMemory } from "../projections/outcomes/record_keeping.ts";
import { type Reliability, computeReliability } from "./reliability.ts";
import { readCountsWithin } from "../projections/daily_counts.ts";

/** UTC days that R covers, including the current one. */
export const RELIABILITY_DAYS = 30;

/** The four dimensions and the figures behind them. */
export interface Figures {
  kpis: KpiState;
  goals: ReturnType<typeof listGoals>;
  effect: Effect;
  memory: Memory;
  reliability: Reliability;
  need: Need;
  /** The values of the dimensions. */
  values: { E: number | null; M: number | null; R: number | null; N: number };
}

/** Computes the dimensions, from small records only. */
export async function computeFigures(deps: OperationsDeps): Promise<Figures> {
  const { store, clock, product } = deps;
  const now = clock.now();
  const memoryDays = lastDays(now, MEMORY_DAYS);
  const reliabilityDays = lastDays(now, RELIABILITY_DAYS);
  const [stored, [memoryCounts, reliabilityCounts], { state }] = await Promise.all([
    store.get("kpi", "latest"),
    readCountsWithin(deps, memoryDays, reliabilityDays),
    readProjection(deps, outcomes),
  ]);
  const kpis = stored?.value ?? NO_KPIS;
  const effect = product ? computeEffect(kpis, product.intent, now) : { value: null, parts: [] };
  const memory = computeMemory(state.gaps, memoryCounts!, memoryDays);
  const reliability = computeReliability(reliabilityCounts!, reliabilityDays);
  const need = await computeNeed(deps, effect);
  const values = { E: effect.value, M: memory.value, R: reliability.value, N: need.value };
  const goals = product ? listGoals(kpis, state.kpis, product.intent, now) : [];
  return { kpis, goals, effect, memory, reliability, need, values };
}
