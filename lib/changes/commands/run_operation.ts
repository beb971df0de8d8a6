/**
 * Applies and rolls back changes. Effects on the host are never inside a transaction: the lease is made durable, the adapter
 * runs, the result is committed with its entry. Without an adapter one transaction does it all.
 */
import { AppError, invalidField } from "../../kit/errors.ts";
import type { Caller } from "../caller.ts";
import { forgetPlace, noteInForce } from "../drift_memory.ts";
import type { HostState } from "../operations/adapter_port.ts";
import { createRejection, type DryRunResult, runDry } from "../operations/dry_run.ts";
import { createMovedError } from "../operations/judge_apply.ts";
import { recordPatiently } from "../operations/record_patiently.ts";
import { recordFailure, recordSuccess, withoutPrevious } from "../operations/record_result.ts";
import { resolveLeases } from "../operations/recover.ts";
import { findTakenRestore, leaveLease, type RestoreOutcome } from "../operations/resolve_restore.ts";
import { askHost, type HostRun, isUnresolved, lastStart, nameSystem, runOnHost } from "../operations/run_adapter.ts";
import { type OperationInput, type OperationResult, type Started, startOperation } from "../operations/start.ts";
import { findCarrier } from "../places.ts";
import { type OperationLease, readRecord } from "../records.ts";
import { readSeen, toSeen } from "../seen.ts";
import { isReplayed, isResult, type Replayed } from "../replies.ts";
import { readRecordedBases, readUnowned } from "../judge_values.ts";
import { readLedger } from "../ledger/ledger.ts";
import { rollbackFacts } from "../ledger/rollback_facts.ts";
import { governed, type Transaction } from "../transaction.ts";

/** Applies or rolls back a change: resolves what was left half done, judges, takes the lease, runs and records. */
export async function runOperation(
  caller: Caller,
  input: OperationInput,
): Promise<OperationResult | DryRunResult | Replayed> {
  const { deps } = caller;
  const { change_id, operation, dry_run } = input;
  if (input.over_drift && !input.note?.trim()) throw invalidField("note", "is required with over_drift");
  const left = dry_run ? undefined : await resolveLeases(deps, change_id);
  return deps.mutex(change_id, async () => {
    const before = operation === "apply" || dry_run ? undefined : await askBeforeRollback(deps, change_id);
    const seen = operation === "apply" ? await askBeforeApply(deps, change_id, dry_run) : undefined;
    const readings = operation === "apply" ? await readBases(deps, change_id) : undefined;
    const started = await governed(
      caller,
      (transaction) => startOperation(transaction, caller, input, { left, before, seen, readings }),
      // A rollback is never rejected for a clock that is wrong.
      { anyClock: operation === "rollback" },
    );
    if (isReplayed(started) || isResult(started)) return started;
    if ("lease" in started) {
      const { lease } = started;
      const run = await runAdapter(deps, started);
      const restore = await findTakenRestore(deps, started.record.change, lease);
      const result = await recordPatiently(deps, lease, () => commitRun(caller, lease, run, restore));
      if (operation === "apply") noteInForce(deps, change_id);
      return result;
    }
    const dry = await runDry(findCarrier(deps.product?.adapter, started.record.change), started);
    const result = { ...dry, ...(seen && { seen }) };
    // A dry run uses up its idempotency key: the key must not repeat as an apply.
    return caller.replies ? governed(caller, async () => result) : result;
  });
}

/** Asks for the state of an applied change: without it nothing follows from its absence after the rollback. */
async function askBeforeRollback({ store, product }: Caller["deps"], changeId: string): Promise<HostState | undefined> {
  const change = (await readRecord(store, changeId))?.change;
  const adapter = change && findCarrier(product?.adapter, change);
  return adapter && change.status === "applied" ? askHost(adapter, change) : undefined;
}

/** Reads what an apply would replace; `null` where it cannot be read now. */
async function askBeforeApply(deps: Caller["deps"], changeId: string, dryRun: boolean | undefined) {
  const change = (await readRecord(deps.store, changeId))?.change;
  if (!change) return undefined;
  return readSeen(deps, change, !dryRun).catch(() => null);
}

/** Reads what the target of an apply holds, where its steps are limited and neither log nor proposal says it. */
async function readBases(deps: Caller["deps"], changeId: string) {
  const record = await readRecord(deps.store, changeId);
  if (!record || deps.product!.intent.policy.targets.length === 0) return undefined;
  return readUnowned(deps, record.change, await readLedger(deps, (ledger) => readRecordedBases(ledger, record)));
}

function runAdapter(deps: Caller["deps"], { lease, record, expected }: Started): Promise<HostRun> {
  const { operation, ends, mayBeGone, over_drift: overDrift } = lease;
  // Near the end of its lease an operation starts no further step: another process may take over soon.
  const inTime = (): boolean => deps.clock.now() <= lastStart(ends);
  const options = { inTime, mayBeGone, readFacts: rollbackFacts(deps), overDrift, expected };
  return runOnHost(deps.product!.adapter!, record.change, operation, options);
}

/** Commits the host's result and ends the lease. */
async function commitRun(
  caller: Caller,
  lease: OperationLease,
  run: HostRun,
  restore: RestoreOutcome,
): Promise<OperationResult | Replayed> {
  const { change_id } = lease;
  const adapter = caller.deps.product!.adapter!;
  const decide = async (transaction: Transaction): Promise<OperationResult | AppError> => {
    const known = await transaction.change(change_id, "settling");
    const name = nameSystem(adapter, known.change);
    const left =
      run.ok || !isUnresolved(run.failure) ? undefined : run.failure.unanswered ? "unanswered" : "unresolved";
    const before = await leaveLease(transaction, lease, known, { failed: !run.ok, left, restore });
    if (run.ok) {
      const result = { name, ...run.result };
      const { target_held, ...recorded } = await recordSuccess(transaction, before, lease, result);
      // A value that a later rollback puts back there is no edit from outside.
      if (target_held !== null) forgetPlace(caller.deps, target_held);
      return { ...recorded, adapter: withoutPrevious(result) };
    }
    const { value: entry } = recordFailure(transaction, before, lease, run.failure).entry;
    const { stage, host, error, rejected: refused } = run.failure;
    if (refused) return createRejection(name, error);
    const { status } = before.change;
    const audit_entry = { id: entry.id, current_hash: entry.current_hash };
    if (run.drift)
      return new AppError(
        "target_drifted",
        `the target of ${change_id} no longer holds what the change set; set it by hand and roll back again, or roll back with over_drift and a note to restore over what it holds`,
        { change_id, current_status: status, ...run.drift, audit_entry },
      );
    if (run.moved) {
      const seen = [toSeen(run.moved, { place: before.change.places?.[0]?.place ?? name, ...transaction })];
      return createMovedError(before.change, transaction.product.intent, { seen, moved: seen }, { audit_entry });
    }
    return new AppError(
      "adapter_failed",
      `the adapter ${name} failed in ${stage}; the change stays ${status} and the host shows ${host}; audit entry ${entry.id} has the cause`,
      { change_id, current_status: status, stage, host, audit_entry },
    );
  };
  return governed(caller, decide, { anyClock: true });
}
