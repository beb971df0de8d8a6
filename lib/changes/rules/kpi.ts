/** KPIs: their direction, the stored feed values, and their reference values. */
import { DAY_MS } from "../../kit/days.ts";
import type { Intent, KpiGoal } from "./intent.ts";
import type { GoodDirection } from "./kpi_words.ts";

/** Stored values of one KPI. */
export interface KpiValue {
  value: number;
  at: string;
  /** The audit entry of the feed. Feeds after an apply are found by the order of the log, not by time. */
  entry: number;
  /** The first value ever fed: the baseline if the intent states none. */
  first: number;
  /** RFC 3339: when the first value was fed. */
  first_at: string;
}

/** `kpi/latest` */
export interface KpiState {
  values: Record<string, KpiValue>;
  /** Time of the most recent feed. */
  last_at: string | null;
}

export const NO_KPIS: KpiState = { values: {}, last_at: null };

const DOWN_IS_GOOD: readonly string[] = ["sales_cycle_days_p50", "incident_rate"];
const DEFAULT_STEP = 0.2;
/** A KPI is stale when its newest value is older. */
const STALE_MS = 7 * DAY_MS;

/** Returns the state after a feed of finite numbers. */
export function addFeedValues(state: KpiState, fed: Record<string, number>, at: string, entry: number): KpiState {
  const values = { ...state.values };
  for (const [kpi, value] of Object.entries(fed))
    values[kpi] = { ...(values[kpi] ?? { first: value, first_at: at }), value, at, entry };
  return { values, last_at: at };
}

/**
 * Returns baseline, target and weight of a KPI: the intent's, or else the first value fed, a target 20 % better, and weight 1.
 * Undefined if the intent has none and the KPI was never fed or its first value is 0.
 */
export function findGoal(kpi: string, state: KpiState, intent: Intent): KpiGoal | undefined {
  const stated = intent.kpis[kpi];
  if (stated) return stated;
  const baseline = state.values[kpi]?.first;
  if (baseline === undefined || baseline === 0) return undefined;
  const step = Math.abs(baseline) * DEFAULT_STEP;
  return { baseline, target: DOWN_IS_GOOD.includes(kpi) ? baseline - step : baseline + step, weight: 1 };
}

/** Returns +1 if a higher value is better, -1 if a lower one is: by the intent's target, or else by the KPI's nature. */
export function kpiDirection(kpi: string, intent: Pick<Intent, "kpis">): 1 | -1 {
  const stated = intent.kpis[kpi];
  if (stated) return stated.target >= stated.baseline ? 1 : -1;
  return DOWN_IS_GOOD.includes(kpi) ? -1 : 1;
}

/** The direction in which a KPI is good, for its words. */
export const goodDirection = (kpi: string, intent: Pick<Intent, "kpis">): GoodDirection =>
  kpiDirection(kpi, intent) === 1 ? "up" : "down";

/** Returns true if a KPI's newest value is stale. */
export const isStale = (fed_at: string, now: number): boolean => now - Date.parse(fed_at) > STALE_MS;

/**
 * Returns when a KPI's deadline has passed, in milliseconds since the epoch: a date at the end of its UTC day; Infinity without
 * one.
 */
export function goalDeadline({ deadline }: Pick<KpiGoal, "deadline"> = {}): number {
  if (deadline === undefined) return Infinity;
  return Date.parse(deadline) + (deadline.length === "2026-12-31".length ? DAY_MS : 0);
}

/** Rounds a difference to 12 digits, which removes the noise of binary fractions. */
export const roundDelta = (delta: number): number => Number(delta.toPrecision(12));
