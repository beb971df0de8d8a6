/** The decision of a rollout, also after a person went on from a mismatch: rule `cs1` on all totals, and on the newer ones. */
import type { Cell, Plan, Totals } from "./plan.ts";
import { type Decision, decideStep, type RolloutState } from "./rule.ts";

/** Totals of the KPIs of each step. */
export type Cells = RolloutState["cells"];

/**
 * Decides by all totals whether a rollout is rolled back. After a mismatch that a person went on from, everything else counts
 * only what was fed beyond the totals of that moment (`baseline`).
 */
export function decideRollout(plan: Plan, state: RolloutState, baseline?: Cells): Decision {
  const decision = decideStep(plan, state);
  if (!baseline || decision.decision === "rollback") return decision;
  const newer = decideStep(plan, { ...state, cells: subtract(state.cells, baseline) });
  return newer.decision === "rollback" ? { ...newer, decision: "hold", reason: "not_yet" } : newer;
}

const subtract = (cells: Cells, baseline: Cells): Cells =>
  cells.map(
    (step, at) =>
      step &&
      Object.fromEntries(Object.entries(step).map(([kpi, cell]) => [kpi, subtractCell(cell, baseline[at]?.[kpi])])),
  );

const subtractCell = ({ treated, control }: Cell, known: Cell | undefined): Cell => ({
  treated: subtractTotals(treated, known?.treated),
  control: subtractTotals(control, known?.control),
});

function subtractTotals(totals: Totals, known: Totals | undefined): Totals {
  if (!known) return totals;
  const left = Object.entries(totals).map(([name, total]) => [name, total - (known[name as keyof Totals] ?? 0)]);
  return Object.fromEntries(left) as Totals;
}
