/** Advances rollouts on target systems: takes a lease, sets the split, verifies it, and only then records the advance. */
import { AppError } from "../../kit/errors.ts";
import { runWithTimeLimit, Unanswered } from "../../kit/time_limit.ts";
import type { Caller } from "../caller.ts";
import { createRollbackFactsReader } from "../ledger/rollback_facts.ts";
import type { ChangesDeps } from "../deps.ts";
import { TargetDrifted } from "../operations/adapter_port.ts";
import { endLease, storeUnresolved, takeLease } from "../operations/lease.ts";
import { recordWithRetries } from "../operations/record_with_retries.ts";
import { computeLastStart, nameSystem } from "../operations/host_state.ts";
import type { OperationResult } from "../operations/start.ts";
import type { StageLease, StageRequest } from "../records.ts";
import type { ReplayedReply } from "../replies.ts";
import { serviceActor } from "../rules/actor.ts";
import type { Change } from "../rules/change.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { expireReadings } from "../target_readings.ts";
import { type CommandResult, runTransaction, type Transaction } from "../transaction.ts";
import { completeAdvance, findStep, isBeforeStep } from "./resolve_advance.ts";

/** An advance to run on the adapter, and its lease. */
export interface OrderedAdvance {
  lease: StageLease;
  change: Change;
}

/** Takes the lease of an advance to the next step. It is durable before the target system is called. */
export function orderAdvance(
  transaction: Transaction,
  { change }: ChangeRecord,
  request: Omit<StageRequest, "operation" | "step"> & { owner: string },
): OrderedAdvance {
  const step = change.exposure!.step + 1;
  return { lease: takeLease(transaction, change, { operation: "stage", step, ...request }), change };
}

/** The result of an advance on the target system; `leaseState`: present while the state of the target system is not known. */
type AdvanceRun =
  | { ok: true }
  | {
      ok: false;
      code: "adapter_failed" | "target_drifted";
      error: string;
      leaseState?: "unresolved" | "unanswered" | undefined;
      values?: TargetDrifted["values"];
    };

/**
 * Runs an ordered advance and records it. The caller holds the lock of the change. Errors: 502 `adapter_failed`, 409
 * `target_drifted`.
 */
export async function runAdvance(caller: Caller, ordered: OrderedAdvance): Promise<OperationResult | ReplayedReply> {
  const run = await setStep(caller.deps, ordered);
  expireReadings(caller.deps.product!.adapter!, ordered.change);
  return recordWithRetries(caller.deps, ordered.lease, () => commitAdvance(caller, ordered.lease, run));
}

async function setStep(deps: ChangesDeps, { lease, change }: OrderedAdvance): Promise<AdvanceRun> {
  const { product, clock } = deps;
  const adapter = product!.adapter!;
  const { step } = lease;
  if (clock.now() > computeLastStart(lease.ends))
    return { ok: false, code: "adapter_failed", error: "the service was held up, and its time for this was over" };
  let failure: Extract<AdvanceRun, { ok: false }> | undefined;
  try {
    await runWithTimeLimit((signal) => adapter.setStage!(change, step, signal, createRollbackFactsReader(deps)));
  } catch (error) {
    const message = (error instanceof Error ? error.message : String(error)).toWellFormed().slice(0, 1000);
    failure = { ok: false, code: "adapter_failed", error: message };
    if (error instanceof Unanswered) return { ...failure, leaseState: "unanswered" };
    if (error instanceof TargetDrifted) failure = { ...failure, code: "target_drifted", values: error.values };
  }
  // The split may be set nevertheless: the call can fail after the write.
  const state = await findStep(adapter, change, step);
  if (state === "done") return { ok: true };
  failure ??= { ok: false, code: "adapter_failed", error: "the target system does not hold what was set" };
  return state === "not_done" ? failure : { ...failure, leaseState: "unresolved" };
}

/** Records the result of an advance. It returns an error instead of throwing it, so that the transaction commits before. */
const commitAdvance = (caller: Caller, lease: StageLease, run: AdvanceRun): Promise<OperationResult | ReplayedReply> =>
  runTransaction(
    caller,
    async (transaction): Promise<OperationResult | AppError> => {
      const { change_id, step } = lease;
      const before = await transaction.change(change_id, "resolving");
      const name = nameSystem(transaction.product.adapter!, before.change);
      if (run.ok) {
        await endLease(transaction, lease);
        const advance = completeAdvance(transaction, before, lease);
        if (advance) return { ...advance, adapter: { name, result: "applied" } };
        return new AppError("illegal_transition", `${change_id} is not being rolled out any more`, { change_id });
      }
      const { code, error, leaseState, values } = run;
      if (leaseState) await storeUnresolved(transaction, lease, leaseState);
      else await endLease(transaction, lease);
      const hold = recordHold(transaction, before, lease, { code, error });
      const { id, current_hash } = hold?.entry.value ?? {};
      return new AppError(code, `the adapter ${name} did not advance ${change_id} to step ${step}: ${error}`, {
        change_id,
        current_status: before.change.status,
        ...(code === "adapter_failed" ? { stage: "advance" } : values),
        ...(hold && { audit_entry: { id, current_hash } }),
      });
    },
    { ignoresClockLag: true },
  );

/** Records why an advance failed, once until the reason changes. */
function recordHold(
  transaction: Transaction,
  before: ChangeRecord,
  { step, circumstance }: StageLease,
  { code, error }: { code: string; error: string },
): CommandResult | undefined {
  const { change, rollout } = before;
  if (!isBeforeStep(change, step) || rollout!.stopped !== undefined || change.exposure!.waits_for === code)
    return undefined;
  const facts = { ...circumstance, decision: "hold", reason: code, error };
  return transaction.execute(
    before,
    { type: "stage", event: "held", step: step - 1, circumstance: facts },
    serviceActor(),
  );
}
