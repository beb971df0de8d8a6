/** Checks whether a KPI trips a guardrail of the intent. */
import type { Guardrail, Intent } from "./intent.ts";
import { kpiDirection, roundDelta } from "./kpi.ts";

export interface GuardrailEvidence {
  kpi: string;
  action: Guardrail["action"];
  baseline: number;
  value: number;
  /** How much worse than the baseline, above 0. */
  regression: number;
  max_regression: number;
  at: string;
  /** The feed's entry. */
  entry: number;
}

/** Returns the evidence if a value is worse than at the apply (`baseline`) by more than the guardrail allows. */
export function checkGuardrail(
  { kpi, action, max_regression }: Guardrail,
  baseline: number,
  value: number,
  intent: Intent,
  at: string,
): Omit<GuardrailEvidence, "entry"> | undefined {
  const regression = roundDelta(kpiDirection(kpi, intent) * (baseline - value));
  return regression > max_regression ? { kpi, action, baseline, value, regression, max_regression, at } : undefined;
}
