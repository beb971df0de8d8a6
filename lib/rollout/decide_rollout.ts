/** Decides a rollout, also after a person has continued it despite a mismatch: rule `cs1` on all totals, and on the newer ones. */
import type { Cell, Plan, Totals } from "./plan.ts";
import { type Decision, decideStep, type RolloutState } from "./rule.ts";

/** Totals of the KPIs of each step. */
export type Cells = RolloutState["cells"];

/**
 * Decides a rollback by all totals. After a person has continued despite a mismatch, every other decision counts only the
 * totals fed since; `baseline` has those of that moment.
 */
export function decideRollout(plan: Plan, state: RolloutState, baseline?: Cells): Decision {
  const decision = decideStep(plan, state);
  if (!baseline || decision.decision === "rollback") return decision;
  const newer = decideStep(plan, { ...state, cells: subtract(state.cells, baseline) });
  // All totals together do not show that it is worse, so the newer ones alone only prevent an advance.
  return newer.decision === "rollback" ? { ...newer, decision: "hold", reason: "not_yet" } : newer;
}

const subtract = (cells: Cells, baseline: Cells): Cells =>
  cells.map(
    (step, index) =>
      step &&
      Object.fromEntries(Object.entries(step).map(([kpi, cell]) => [kpi, subtractCell(cell, baseline[index]?.[kpi])])),
  );

const subtractCell = ({ treated, control }: Cell, previous: Cell | undefined): Cell => ({
  treated: subtractTotals(treated, previous?.treated),
  control: subtractTotals(control, previous?.control),
});

function subtractTotals(totals: Totals, previous: Totals | undefined): Totals {
  if (!previous) return totals;
  const differences = Object.entries(totals).map(([name, total]) => [
    name,
    total - (previous[name as keyof Totals] ?? 0),
  ]);
  return Object.fromEntries(differences) as Totals;
}
