/**
 * Rule `cs1`: decides at each feed whether a rollout advances, holds or is rolled back. It has no state and needs only
 * recorded numbers, so an auditor can recompute each decision. A KPI that is worse than allowed rolls back in any step; over all
 * KPIs and steps the risk of a false rollback is 5 %. A step with `budget` or `proven` advances only once each KPI is proven to be
 * within its allowance, with `budget` at the share of the next step.
 */
import { findImpossibleTotals, summarize } from "./arm.ts";
import { ALPHA, compare } from "./bounds.ts";
import { BUCKETS } from "./bucket.ts";
import { type Cell, countTests, type Plan, type Step, type WatchedKpi } from "./plan.ts";
import { findMismatch, MISMATCH_RISK } from "./split_check.ts";

export const RULE = "cs1";

/** Users that each arm needs before anything is computed. */
const MIN_USERS = 2;

/** State of a rollout at a feed. */
export interface RolloutState {
  /** Current step, from 0. */
  step: number;
  /** Hours since the current step began. */
  hours: number;
  /** Hours since the last feed of the KPI that was fed least recently. */
  silent: number;
  /** Newest totals by KPI, of each step so far. */
  cells: readonly (Readonly<Record<string, Cell>> | undefined)[];
}

/** Figures of a KPI in a step, of 10 significant digits; absent if too few users were fed. */
export interface Reading {
  step: number;
  kpi: string;
  treated?: number;
  control?: number;
  /** Least amount by which the treated arm is worse; null: no bound. */
  worse_low?: number | null;
  /** Largest amount by which the treated arm is worse; null: no bound. */
  worse_high?: number | null;
  is_worse?: boolean;
  is_better?: boolean;
  /** Logarithm of the evidence that the split is wrong. */
  mismatch_ln?: number;
  is_mismatched?: boolean;
  /** Why the totals are impossible. */
  bad?: string;
}

export type Reason = Exclude<Step["advance"], "manual"> | Hold | "worse";
type Hold = "mismatch" | "impossible_data" | "no_data" | "manual" | "min_hours" | "not_yet";

export interface Decision {
  decision: "advance" | "hold" | "rollback";
  reason: Reason;
  /** The KPI and the step that decided. */
  kpi?: string;
  step?: number;
  readings: Reading[];
}

/** Decides by rule `cs1`. */
export function decideStep(plan: Plan, state: RolloutState): Decision {
  const readings = listReadings(plan, state);
  const findReading = (isDeciding: (reading: Reading) => boolean | undefined) => readings.find(isDeciding);
  const makeDecision = (decision: Decision["decision"], reason: Reason, reading?: Reading): Decision => ({
    decision,
    reason,
    ...(reading && { kpi: reading.kpi, step: reading.step }),
    readings,
  });
  const worse = findReading(({ is_worse }) => is_worse);
  if (worse) return makeDecision("rollback", "worse", worse);
  const mismatched = findReading(({ is_mismatched }) => is_mismatched);
  if (mismatched) return makeDecision("hold", "mismatch", mismatched);
  const impossible = findReading(({ bad }) => bad !== undefined);
  if (impossible) return makeDecision("hold", "impossible_data", impossible);
  const fed = state.cells[state.step] ?? {};
  const isUnfed = plan.watch.some(({ kpi }) => !Object.hasOwn(fed, kpi));
  if (isUnfed || state.silent > plan.max_silent_hours) return makeDecision("hold", "no_data");
  const step = plan.steps[state.step]!;
  if (step.advance === "manual") return makeDecision("hold", "manual");
  if (state.hours < step.min_hours) return makeDecision("hold", "min_hours");
  const { advance } = step;
  const unready = plan.watch.find((watched) => !mayAdvance(plan, state.step, watched, fed[watched.kpi]!, readings));
  return unready
    ? makeDecision(
        "hold",
        "not_yet",
        findReading(({ kpi, step: stepIndex }) => kpi === unready.kpi && stepIndex === state.step),
      )
    : makeDecision("advance", advance);
}

/** Returns the share of the step that follows `step`; after the last one everybody has the value. */
export const findNextShare = ({ steps }: Plan, step: number): number => steps[step + 1]?.share ?? BUCKETS;

/** Returns the allowance of a KPI, in its unit or in parts of the control's mean. */
export const readAllowed = ({ allowed }: WatchedKpi): number =>
  typeof allowed === "object" ? allowed.relative : allowed;

/**
 * Returns true if a KPI permits the advance. `proven`: the worst effect that is still possible is within the allowance. `budget`:
 * that effect times the share of the next step is. `unless_worse`: both arms have enough users.
 */
function mayAdvance(
  plan: Plan,
  stepIndex: number,
  watched: WatchedKpi,
  cell: Cell,
  readings: readonly Reading[],
): boolean {
  const { advance, min_users = MIN_USERS } = plan.steps[stepIndex]!;
  if (advance === "unless_worse") return Math.min(cell.treated.n, cell.control.n) >= min_users;
  const high = readings.find(({ kpi, step }) => kpi === watched.kpi && step === stepIndex)!.worse_high ?? Infinity;
  const exposed = advance === "budget" ? findNextShare(plan, stepIndex) / BUCKETS : 1;
  return high * exposed <= readAllowed(watched);
}

const listReadings = (plan: Plan, { step, cells }: RolloutState): Reading[] =>
  Array.from({ length: step + 1 }, (_, stepIndex) =>
    plan.watch.map((watched) => ({
      step: stepIndex,
      kpi: watched.kpi,
      ...readCell(plan, stepIndex, watched, cells[stepIndex]?.[watched.kpi]),
    })),
  ).flat();

function readCell(
  plan: Plan,
  stepIndex: number,
  watched: WatchedKpi,
  cell: Cell | undefined,
): Omit<Reading, "step" | "kpi"> {
  if (!cell || Math.min(cell.treated.n, cell.control.n) < MIN_USERS) return {};
  const bad = findImpossibleTotals(watched, cell.treated) ?? findImpossibleTotals(watched, cell.control);
  if (bad !== undefined) return { bad };
  const [treated, control] = [summarize(watched, cell.treated), summarize(watched, cell.control)];
  const difference = compare(watched, treated, control);
  const tests = countTests(plan);
  // All tests share the risk of a false `is_worse` or `is_better`; the proof that a step needs has the complete risk of its own.
  const worse_low = round(difference.findLow(ALPHA / tests));
  const jointHigh = round(difference.findHigh(ALPHA / tests));
  const mismatch_ln = round(findMismatch(treated.n, control.n, plan.steps[stepIndex]!.share))!;
  return {
    treated: round(treated.mean)!,
    control: round(control.mean)!,
    worse_low,
    worse_high: round(difference.findHigh(ALPHA)),
    is_worse: worse_low !== null && worse_low > readAllowed(watched),
    is_better: jointHigh !== null && jointHigh < 0,
    mismatch_ln,
    is_mismatched: mismatch_ln >= Math.log(tests / MISMATCH_RISK),
  };
}

const round = (value: number | null): number | null => (value === null ? null : Number(value.toPrecision(10)));
