/** Resolves restores that a crash, a lost process or a silent target system left unfinished. */
import { runWithTimeLimit } from "../../kit/time_limit.ts";
import type { ChangesDeps } from "../deps.ts";
import { describeMove, findMove } from "../locations.ts";
import { type OperationLease, readRecord, type RestoreLease, type StageLease } from "../records.ts";
import type { Change } from "../rules/change.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { runTransaction, type Transaction } from "../transaction.ts";
import type { RestoreResult } from "./adapter_port.ts";
import { endLease, findOperand, hasRecordedFailure, storeUnresolved, mayTakeEffect } from "./lease.ts";
import { recordRestore } from "./record_result.ts";
import { nameSystem } from "./host_state.ts";

/**
 * `resolved`, or the reason why not. `unknown`: the host answers, and the operation can be recorded neither as done nor as undone
 * yet; `open`: the adapter says that it may still take effect; `silent`: the host does not answer; `stranded`: the configuration
 * has moved each location that cannot be asked.
 */
export type ResolutionOutcome = "resolved" | "unknown" | "stranded" | "open" | "silent";

/** Records an effect on the host, even if the clock is behind. */
export const recordHostEffect = <T>(
  deps: ChangesDeps,
  decision: (transaction: Transaction) => Promise<T>,
): Promise<T> => runTransaction({ deps }, decision, { ignoresClockLag: true });

/** Result of a restore, or the reason why it has none; undefined if no target system can answer. */
export type RestoreOutcome = RestoreResult | "not_done" | "open" | undefined;

/** Asks the target system for the result of a restore; undefined also without an adapter, or if the target has moved. */
async function findRestore(
  { product }: ChangesDeps,
  change: Change,
  { restore_id }: RestoreLease,
): Promise<RestoreOutcome> {
  const adapter = product?.adapter;
  if (!adapter || findMove(adapter, change)) return undefined;
  return runWithTimeLimit(
    async (signal) => (await adapter.findRestore?.(change, restore_id, signal)) ?? "not_done",
  ).catch(() => undefined);
}

/** Asks for the outcome of the restore whose lease an operation took over. */
export const findTakenRestore = async (
  deps: ChangesDeps,
  change: Change,
  { unresolved_restore }: OperationLease,
): Promise<RestoreOutcome> => unresolved_restore && findRestore(deps, change, unresolved_restore);

/** The end of an operation, and the outcome of the restore whose lease it took over. */
interface OperationEnd {
  failed: boolean;
  /** State in which the lease remains, since the host has not reported yet how the operation ended. */
  leaseState?: "unresolved" | "unanswered" | undefined;
  restore: RestoreOutcome;
}

/**
 * Ends or keeps the lease of an operation. If the operation took over the lease of a restore, a restore that is done is recorded
 * before the operation; if the operation failed and the restore may still take effect, the restore gets its lease back. Returns the
 * record after that.
 */
export async function endOrKeepLease(
  transaction: Transaction,
  lease: OperationLease,
  before: ChangeRecord,
  { failed, leaseState, restore }: OperationEnd,
): Promise<ChangeRecord> {
  const { unresolved_restore: restoreLease, ...leaseOfOperation } = lease;
  const isApplied = before.change.status === "applied";
  // After a rollback, its entry already says what the target holds, so the restore is not recorded.
  const result = restoreLease && typeof restore === "object" && isApplied ? restore : undefined;
  // A restore that is recorded below is no longer part of the lease.
  if (leaseState) await storeUnresolved(transaction, result ? leaseOfOperation : lease, leaseState);
  else await endLease(transaction, lease);
  if (result) return recordFoundRestore(transaction, before, restoreLease!, result);
  // If the rollback failed, the advance whose lease it took over is still to be resolved.
  if (lease.unresolved_stage && failed && !leaseState)
    transaction.tx.put("leases", lease.place, lease.unresolved_stage);
  const isRestoreOpen = restoreLease && (restore !== "not_done" || mayTakeEffect(restoreLease, transaction.now));
  if (isRestoreOpen && failed && !leaseState) transaction.tx.put("leases", restoreLease.place, restoreLease);
  return before;
}

async function recordFoundRestore(
  transaction: Transaction,
  before: ChangeRecord,
  lease: RestoreLease,
  result: RestoreResult,
): Promise<ChangeRecord> {
  const operand = findOperand(before.change, lease);
  const adapter = { name: nameSystem(transaction.product.adapter!, operand), ...result };
  const resolution = hasRecordedFailure(lease)
    ? { late: true as const }
    : { resolved_after_interruption: true as const };
  return (await recordRestore(transaction, before, lease, { operands: [{ operand, adapter }], ...resolution })).record;
}

/**
 * Asks the target system about an abandoned restore, and records it or ends its lease. The lease remains if the outcome is open.
 */
export async function resolveRestore(deps: ChangesDeps, lease: RestoreLease): Promise<ResolutionOutcome> {
  const adapter = deps.product?.adapter;
  const { change_id } = lease;
  const change = (await readRecord(deps.store, change_id))?.change;
  const operand = change && findOperand(change, lease);
  const moved = operand && findMove(adapter, operand);
  if (moved) deps.log.warn("an interrupted restore cannot be resolved", { change_id, error: describeMove(moved) });
  const outcome = operand && (await findRestore(deps, operand, lease));
  if (outcome === undefined && operand && adapter) {
    await storeUnresolvedLease(deps, lease);
    return moved ? "stranded" : "silent";
  }
  if (outcome === "open") return outcome;
  if (outcome === "not_done" && mayTakeEffect(lease, deps.clock.now())) return "unknown";
  const result = typeof outcome === "object" ? outcome : undefined;
  if (!result) deps.log.warn("a restore was interrupted and set nothing", { change_id });
  await recordHostEffect<void>(deps, (transaction) => recordOutcome(transaction, lease, result));
  return "resolved";
}

async function recordOutcome(
  transaction: Transaction,
  lease: RestoreLease,
  result: RestoreResult | undefined,
): Promise<void> {
  await endLease(transaction, lease);
  const before = await transaction.change(lease.change_id, "resolving");
  // After a rollback in the meantime, its entry already says what the target holds.
  if (result && before.change.status === "applied") await recordFoundRestore(transaction, before, lease, result);
}

/** Stores a lease as unresolved, without an entry, while the target system does not answer about a restore or an advance. */
export async function storeUnresolvedLease(deps: ChangesDeps, lease: RestoreLease | StageLease): Promise<void> {
  if (!hasRecordedFailure(lease))
    await recordHostEffect<void>(deps, (transaction) => storeUnresolved(transaction, lease));
}
