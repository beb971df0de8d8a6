/**
 * Applies and rolls back changes. Effects on the host are never inside a transaction: the lease is committed first, then the
 * adapter runs, then the result is committed with its entry. Without an adapter one transaction does everything.
 */
import { AppError, invalidField } from "../../kit/errors.ts";
import type { Caller } from "../caller.ts";
import { forgetOperands, rememberInForce } from "../drift_memory.ts";
import type { HostState } from "../operations/adapter_port.ts";
import { createRejection, type DryRunResult, performDryRun } from "../operations/dry_run.ts";
import { createMovedValueError } from "../operations/judge_apply.ts";
import { recordWithRetries } from "../operations/record_with_retries.ts";
import { type DoneOperand, recordFailure, recordSuccess, omitPrevious } from "../operations/record_result.ts";
import { resolveLeases } from "../operations/recover.ts";
import { findTakenRestore, endOrKeepLease, type RestoreOutcome } from "../operations/resolve_restore.ts";
import { tryReadHostState, computeLastStart, nameSystem } from "../operations/host_state.ts";
import {
  type HostRun,
  isUnresolved,
  type OperandOutcome,
  runOnHost,
  type RunOptions,
} from "../operations/run_adapter.ts";
import {
  type OperationInput,
  type OperationResult,
  type StartedOperation,
  startOperation,
} from "../operations/start.ts";
import { listLimitRules } from "../mandates/limit_rules.ts";
import { findCarrier } from "../locations.ts";
import { findApprovingMandate } from "../rules/mandate_approval.ts";
import { type OperationLease, readRecord } from "../records.ts";
import type { Change } from "../rules/change.ts";
import type { Operation } from "../rules/command.ts";
import { isPlan } from "../rules/list_entries.ts";
import { listOperands } from "../rules/operands.ts";
import { listAppliedOperands } from "../rules/record.ts";
import { expireReadings, observeTargets, toObservedValue } from "../target_readings.ts";
import { isReplayed, isResult, type ReplayedReply } from "../replies.ts";
import { readRecordedBases, readUnownedTargets } from "../judge_values.ts";
import { readLedger } from "../ledger/ledger.ts";
import { createRollbackFactsReader } from "../ledger/rollback_facts.ts";
import { prefetchOperation } from "../prefetch.ts";
import { runTransaction, type Transaction } from "../transaction.ts";

/**
 * Applies or rolls back a change: resolves unfinished operations, judges the request, takes the lease, runs the adapter, records.
 */
export async function runOperation(
  caller: Caller,
  input: OperationInput,
): Promise<OperationResult | DryRunResult | ReplayedReply> {
  const { deps } = caller;
  const { change_id, operation, dry_run } = input;
  if (input.over_drift && !input.note?.trim()) throw invalidField("note", "is required with over_drift");
  const resolution = dry_run ? undefined : await resolveLeases(deps, change_id);
  return deps.mutex(change_id, async () => {
    const statesBefore = operation === "apply" || dry_run ? undefined : await readStatesBeforeRollback(deps, change_id);
    const observed = operation === "apply" ? await observeBeforeApply(deps, change_id, dry_run) : undefined;
    const readings = operation === "apply" ? await readBases(deps, change_id) : undefined;
    const started = await runTransaction(
      caller,
      (transaction) => startOperation(transaction, caller, input, { resolution, statesBefore, observed, readings }),
      // A rollback must work even if the clock is behind.
      { ignoresClockLag: operation === "rollback", prefetch: prefetchOperation(change_id, operation) },
    );
    if (isReplayed(started) || isResult(started)) return started;
    if ("leases" in started) {
      const run = await runAdapter(deps, started);
      for (const { operand } of run.outcomes) expireReadings(deps.product!.adapter!, operand);
      const ended = await Promise.all(
        started.leases.map(async (lease, index) => {
          const outcome = run.outcomes[index]!;
          return { lease, outcome, restore: await findTakenRestore(deps, outcome.operand, lease) };
        }),
      );
      const result = await recordWithRetries(deps, started.leases[0]!, () => commitRun(caller, started, run, ended));
      if (operation === "apply") for (const { operand } of run.outcomes) rememberInForce(deps, operand.change_id);
      return result;
    }
    const dryRun = await performDryRun(deps.product?.adapter, started);
    const result = { ...dryRun, ...(observed && { seen: observed }) };
    // A dry run uses up its idempotency key, so that the same key cannot be used for the apply.
    return caller.replies ? runTransaction(caller, async () => result) : result;
  });
}

/** Reads the host's states of an applied change, which decide `mayBeGone` of the leases of its rollback. */
async function readStatesBeforeRollback(
  { store, product }: Caller["deps"],
  changeId: string,
): Promise<ReadonlyMap<string, HostState | undefined>> {
  const record = await readRecord(store, changeId);
  const operands = record?.change.status === "applied" ? listAppliedOperands(record) : [];
  const states = operands.map(async (operand) => {
    const adapter = findCarrier(product?.adapter, operand);
    return [operand.change_id, adapter && (await tryReadHostState(adapter, operand))] as const;
  });
  return new Map(await Promise.all(states));
}

/** Reads the values that an apply would replace; undefined if there is nothing to read, `null` if they cannot be read now. */
async function observeBeforeApply(deps: Caller["deps"], changeId: string, dryRun: boolean | undefined) {
  const change = (await readRecord(deps.store, changeId))?.change;
  if (!change) return undefined;
  return observeTargets(deps, change, !dryRun).catch(() => null);
}

/** Reads the values of targets with limited steps that neither the log nor the proposal has. */
async function readBases(deps: Caller["deps"], changeId: string) {
  const record = await readRecord(deps.store, changeId);
  const { targets, mandates } = deps.product!.intent.policy;
  if (!record) return undefined;
  const isByMandate = mandates !== undefined && findApprovingMandate(record.change) !== undefined;
  const agent = isByMandate ? record.change.proposer : null;
  const mandateRules = agent ? await listLimitRules(deps.store, agent) : undefined;
  const rules = [...targets, ...(mandateRules ?? [])];
  if (rules.length === 0) return undefined;
  const recorded = await readLedger(deps, (ledger) => readRecordedBases(ledger, record));
  return readUnownedTargets(deps, record.change, recorded, rules);
}

function runAdapter(deps: Caller["deps"], { leases, operands, expected }: StartedOperation): Promise<HostRun> {
  const { operation, ends, over_drift: overDrift } = leases[0]!;
  // Near the end of its lease an operation starts no further step: another process may take over soon.
  const isInTime = (): boolean => deps.clock.now() <= computeLastStart(ends);
  const mayBeGone = (operand: Change): true | undefined => leases[operands.indexOf(operand)]?.mayBeGone;
  const options: RunOptions = { isInTime, mayBeGone, readFacts: createRollbackFactsReader(deps), overDrift, expected };
  return runOnHost(deps.product!.adapter!, operands, operation, options);
}

/** The outcome of an operation on one operand, and of the restore whose lease it took over. */
interface EndedLease {
  lease: OperationLease;
  outcome: OperandOutcome;
  restore: RestoreOutcome;
}

/** Commits the result and ends the leases. A lease remains while the state of its target after the operation is not known. */
async function commitRun(
  caller: Caller,
  { leases, record, operands }: StartedOperation,
  run: HostRun,
  ended: readonly EndedLease[],
): Promise<OperationResult | ReplayedReply> {
  const { change_id } = record.change;
  const firstLease = leases[0]!;
  const adapter = caller.deps.product!.adapter!;
  const toResult = ({ operand, result }: OperandOutcome): DoneOperand["adapter"] | undefined =>
    result && { name: nameSystem(adapter, operand), ...result };
  const recordRun = async (transaction: Transaction): Promise<OperationResult | AppError> => {
    let before = await transaction.change(change_id, "resolving");
    const name = nameSystem(adapter, before.change);
    for (const { lease, outcome, restore } of ended) {
      const leaseState = findLeaseState(outcome, run, before.change);
      const failed = outcome.result === undefined;
      before = await endOrKeepLease(transaction, lease, before, { failed, leaseState, restore });
    }
    if (run.ok) {
      const carriedOut = run.outcomes.map((outcome) => ({ operand: outcome.operand, adapter: toResult(outcome)! }));
      // Entries of a plan that no target system carries are only recorded.
      const planned = firstLease.operation === "apply" ? listOperands(before.change) : listAppliedOperands(before);
      const recordedOnly = planned.filter(({ change_id: id }) => operands.every((operand) => operand.change_id !== id));
      const done = [...carriedOut, ...recordedOnly.map((operand) => ({ operand, adapter: null }))];
      const { replaced, ...recorded } = await recordSuccess(transaction, before, firstLease, done);
      // The replaced changes need no drift check: a rollback may restore their values, which is no edit from outside.
      for (const { target_held } of replaced) if (target_held !== null) forgetOperands(caller.deps, target_held);
      const [first] = carriedOut;
      if (!isPlan(before.change)) return { ...recorded, adapter: omitPrevious(first!.adapter) };
      const sets = carriedOut.map(({ operand: { tenant_id, target }, adapter: result }) => ({
        tenant_id,
        target,
        ...omitPrevious(result),
      }));
      return { ...recorded, adapter: { name, result: OPERATION_RESULTS[firstLease.operation], sets } };
    }
    const outcomes = run.outcomes.map((outcome) => ({ ...outcome, adapter: toResult(outcome) }));
    const { value: entry } = (await recordFailure(transaction, before, firstLease, run.failure, outcomes)).entry;
    const { stage, host, error, rejected: isRejected } = run.failure;
    if (isRejected) return createRejection(name, error);
    const { status } = before.change;
    const audit_entry = { id: entry.id, current_hash: entry.current_hash };
    if (run.drift)
      return new AppError(
        "target_drifted",
        `the target of ${change_id} no longer holds what the change set; set it by hand and roll back again, or roll back with over_drift and a note to restore over what it holds`,
        { change_id, current_status: status, ...run.drift, audit_entry },
      );
    if (run.moved) {
      const location = run.failed.operand.places?.[0]?.place ?? name;
      const observed = [toObservedValue(run.moved, { place: location, ...transaction })];
      return createMovedValueError(
        before.change,
        transaction.product.intent,
        { seen: observed, moved: observed },
        { audit_entry },
      );
    }
    return new AppError(
      "adapter_failed",
      `the adapter ${nameSystem(adapter, run.failed.operand)} failed in ${stage}; the change stays ${status} and the host shows ${host}; audit entry ${entry.id} has the cause`,
      { change_id, current_status: status, stage, host, ...listSets(before.change, run), audit_entry },
    );
  };
  return runTransaction(caller, recordRun, {
    // The effect has happened already, so its result is recorded even if the clock is behind.
    ignoresClockLag: true,
    prefetch: prefetchOperation(change_id, firstLease.operation),
  });
}

const OPERATION_RESULTS = { apply: "applied", rollback: "rolled_back" } as const satisfies Record<Operation, string>;

/**
 * Returns the state of a lease that remains; undefined if the lease ends. After a failed apply of a plan, the targets that are
 * still set are rolled back later.
 */
function findLeaseState(
  { result, failure, host, isTouched }: OperandOutcome,
  run: HostRun,
  change: Change,
): "unresolved" | "unanswered" | undefined {
  if (run.ok || result !== undefined) return undefined;
  const getState = (unanswered?: boolean) => (unanswered ? "unanswered" : "unresolved");
  if (!isPlan(change)) return isUnresolved(run.failure) ? getState(run.failure.unanswered) : undefined;
  // A drifted target holds another program's value: nothing of the operation is open there.
  const isOpen = host === "unknown" || (change.status === "approved" && host === "applied");
  return isTouched && isOpen && !failure?.drifted ? getState(failure?.unanswered) : undefined;
}

/** Lists the host's state of each target of a plan. */
const listSets = (change: Change, { outcomes }: HostRun): { sets?: object[] } =>
  isPlan(change)
    ? { sets: outcomes.map(({ operand: { tenant_id, target }, host }) => ({ tenant_id, target, host })) }
    : {};
