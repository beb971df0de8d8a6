/** Answers other tools (release gates) that request a release. */
import type { TargetKey } from "../rules/target_key.ts";
import { AppError, type ErrorCode } from "../../kit/errors.ts";
import type { ChangesDeps } from "../deps.ts";
import { NoTargetSystem, type ProductAdapter } from "../operations/adapter_port.ts";
import type { GateDecision } from "../rules/decide_gate.ts";
import { runTransaction } from "../transaction.ts";
import { type GateQuestion, judgeRelease } from "./judge_release.ts";

/** Errors of states in which the service decides nothing: the answer is then to wait. */
const UNDECIDED: ReadonlySet<ErrorCode> = new Set(["chain_broken", "clock_behind", "intent_outdated"]);

/** Returns true if other tools may ask about a target; without an adapter, about every target. Errors: `NoTargetSystem`. */
export const isGate = (adapter: ProductAdapter | undefined, { tenant_id, target }: TargetKey): boolean =>
  // A release is a change of kind `config`; its value does not matter here.
  adapter?.isGate?.({ tenant_id, target, kind: "config", value: undefined }) ?? true;

/** Requires that other tools may ask about a target. Errors: 400 `no_target_system`. */
export function requireGate(adapter: ProductAdapter | undefined, key: TargetKey): void {
  try {
    if (isGate(adapter, key)) return;
  } catch (error) {
    if (error instanceof NoTargetSystem) throw new AppError("no_target_system", error.message);
    throw error;
  }
  throw new AppError("no_target_system", `${key.target} is no gate: its target system sets its value`);
}

/** Returns the answer to a request for a release; writes nothing. Errors: 400 `no_target_system`. */
export async function askGate(deps: ChangesDeps, question: GateQuestion): Promise<GateDecision> {
  requireGate(deps.product!.adapter, question);
  return answerWaitingIfUndecided(() =>
    runTransaction<GateDecision>({ deps }, (transaction) => judgeRelease(transaction, question)),
  );
}

/** Returns a decision; `waiting` while the service decides nothing. */
export async function answerWaitingIfUndecided(decide: () => Promise<GateDecision>): Promise<GateDecision> {
  try {
    return await decide();
  } catch (error) {
    if (!(error instanceof AppError && UNDECIDED.has(error.code))) throw error;
    return { state: "waiting", change_id: null, reasons: [error.message] };
  }
}
