/** Judges a rollout: by rule `cs1` on the fed totals, by holds of people, and by the conditions of an apply. */
import { HOUR_MS } from "../../kit/days.ts";
import type { AppError } from "../../kit/errors.ts";
import { type Cells, decideRollout } from "../../rollout/decide_rollout.ts";
import { type Decision, RULE } from "../../rollout/rule.ts";
import { toCells } from "../../rollout/samples.ts";
import { toPlan } from "../../rollout/stages.ts";
import { parseDetail } from "../rules/event.ts";
import type { ChangeRecord } from "../rules/record.ts";
import type { Transaction } from "../transaction.ts";
import { findHold } from "./find_hold.ts";
import { readSamples, type StoredRow, toFedTotals } from "./samples.ts";

/** A judgement of a rollout, and its facts for an entry. */
export interface RolloutVerdict {
  decision: Decision["decision"];
  /** The reason; for a hold also `by_hand`, or the code of the error that prevents the advance. */
  reason: string;
  facts: object;
  /** The error that prevents an advance which the numbers allow. */
  error?: AppError | undefined;
}

/** Judges a rollout now; `byHand`: a person advances a manual step. */
export async function judgeRollout(
  transaction: Transaction,
  record: ChangeRecord,
  { byHand = false }: { byHand?: boolean } = {},
): Promise<RolloutVerdict> {
  const { change, rollout } = record;
  const plan = toPlan(change.stages!);
  const { step, since } = change.exposure!;
  const now = Date.parse(transaction.at);
  const rows = (await readSamples(transaction.tx, change.change_id)).filter((row) => row.step <= step);
  const hours = (now - Date.parse(since)) / HOUR_MS;
  const silent = countSilentHours(rows, step, now);
  const { baseline } = rollout!;
  const totals = rows.map(toFedTotals);
  const state = { step, hours, silent, cells: toCells(totals) };
  const { readings, ...ruleDecision } = decideRollout(plan, state, await readBaseline(transaction, baseline));
  const impossible = rows.find((row) => row.impossible !== undefined);
  const overruled = overrule(ruleDecision, { impossible, rollout: rollout! });
  const isEarly = hours < plan.steps[step]!.min_hours;
  const { decision, reason, ...details } = advanceByHand(overruled, { byHand, isEarly });
  const error = decision === "advance" ? await findHold(transaction, record) : undefined;
  const missing = error?.details["missing"];
  return {
    decision: error ? "hold" : decision,
    reason: error?.code ?? reason,
    error,
    facts: {
      rule: RULE,
      decision: error ? "hold" : decision,
      reason: error?.code ?? reason,
      ...details,
      ...(error && { error: error.message }),
      ...(missing !== undefined && { missing }),
      hours,
      silent,
      ...(baseline !== undefined && { baseline }),
      totals,
      readings,
    },
  };
}

type StepDecision = Pick<Decision, "decision" | "kpi"> & { reason: string; at_step?: number | undefined };

/** Lets a person advance a step that waits only for a person. */
function advanceByHand(
  decision: StepDecision,
  { byHand, isEarly }: { byHand: boolean; isEarly: boolean },
): StepDecision {
  if (!byHand || decision.reason !== "manual") return decision;
  return isEarly ? { decision: "hold", reason: "min_hours" } : { decision: "advance", reason: "manual" };
}

/** Lets holds of people and impossible data override the rule, except a rollback that the rule orders. */
function overrule(
  { decision, reason, kpi, step }: Omit<Decision, "readings">,
  { impossible, rollout }: { impossible: StoredRow | undefined; rollout: NonNullable<ChangeRecord["rollout"]> },
): StepDecision {
  const byRule = { decision, reason, ...(kpi !== undefined && { kpi }), ...(step !== undefined && { at_step: step }) };
  // The rule's own mismatch is more than a stored one: it names the KPI and the step.
  if (decision === "rollback" || reason === "mismatch") return byRule;
  if (rollout.mismatch) return { decision: "hold", reason: "mismatch" };
  if (impossible) return { decision: "hold", reason: "impossible_data", kpi: impossible.kpi, at_step: impossible.step };
  if (rollout.by_hand !== undefined) return { decision: "hold", reason: "by_hand" };
  return byRule;
}

/** Returns the hours since the oldest of the last feeds of the step's KPIs; 0 if none was fed. */
function countSilentHours(rows: readonly StoredRow[], step: number, now: number): number {
  const fed = rows.filter((row) => row.step === step);
  const oldest = Math.min(...fed.map(({ as_of, at }) => Math.min(Date.parse(as_of), Date.parse(at))));
  return fed.length === 0 ? 0 : Math.max(0, (now - oldest) / HOUR_MS);
}

/** Reads the totals at the last resume after a mismatch, from its entry. */
async function readBaseline({ evidence }: Transaction, id: number | undefined): Promise<Cells | undefined> {
  const entry = id === undefined ? undefined : await evidence.storedEntry(id);
  const { totals } = parseDetail(entry?.detail ?? "");
  return totals && toCells(totals);
}
