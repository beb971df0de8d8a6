/** Resolves one unfinished operation: asks the host, and records the operation as done or as failed. */
import { AppError } from "../../kit/errors.ts";
import { readConfirmedTime } from "../confirmed_time.ts";
import type { ChangesDeps } from "../deps.ts";
import { describeMove, findCarrier, findMove } from "../locations.ts";
import { requireInsideMandate } from "../mandates/check_apply.ts";
import { filterProvenConsents } from "../proven_consents.ts";
import { type OperationLease, readRecord } from "../records.ts";
import type { Change } from "../rules/change.ts";
import { isPlan } from "../rules/list_entries.ts";
import { listOperands } from "../rules/operands.ts";
import { findOverdueStep } from "../rules/overdue.ts";
import { type ChangeRecord, listAppliedOperands } from "../rules/record.ts";
import { describeMovedTarget } from "../rules/stale_target.ts";
import { requireOperable } from "../rules/state_machine.ts";
import type { Transaction } from "../transaction.ts";
import { endLease, findOperand, hasRecordedFailure, storeUnresolved, mayTakeEffect, renewLease } from "./lease.ts";
import { type DoneOperand, type OperandState, recordFailure, recordSuccess } from "./record_result.ts";
import type { HostState, ProductAdapter } from "./adapter_port.ts";
import {
  findTakenRestore,
  endOrKeepLease,
  type ResolutionOutcome,
  recordHostEffect,
  type RestoreOutcome,
} from "./resolve_restore.ts";
import {
  tryReadHostState,
  tryReadStateInForce,
  groupOperands,
  isDone,
  isGone,
  nameSystem,
  undoOnHost,
} from "./host_state.ts";
import { combineHosts, type HostFailure } from "./run_adapter.ts";

const NO_CONSENT =
  "the host has carried out the apply, but its consent no longer counts; the service asked the host to roll it back";
const INTERRUPTED = "the service stopped before the operation ended; ask for it again";
const ANSWERED_LATE = "the host did not show the operation as done when it answered again; ask for it again";
const PLAN_FAILURES = {
  apply: "the plan was not set as a whole, and what was set of it is taken back",
  rollback: "the plan was not taken back as a whole; roll it back again",
} as const;

/** The lease on an operand, and the host's state of the operand. */
interface LeaseCheck {
  lease: OperationLease;
  operand: Change;
  /** Undefined if the host does not answer. */
  host: HostState | undefined;
  /** True if the host cannot be asked, since the configuration has moved the location. */
  isMoved?: true;
}

/** The state of an operand and its lease; `isOpen`: the host has not reported the state, or not rolled the operand back yet. */
interface ResolvedOperand extends OperandState {
  lease: OperationLease;
  isOpen: boolean;
  /** True if the lease was renewed in order to undo the operation. */
  isRenewed?: true;
  restore: RestoreOutcome;
}

/**
 * Asks the host about the abandoned leases of an operation, and completes the change or records the failure. A lease remains while
 * the host does not report the state of its operand. If the apply of a plan failed or was interrupted, the targets that it set are
 * rolled back.
 */
export async function resolveOperation(
  deps: ChangesDeps,
  leases: readonly OperationLease[],
): Promise<ResolutionOutcome> {
  const adapter = deps.product?.adapter;
  const [first] = leases as [OperationLease];
  const change = (await readRecord(deps.store, first.change_id))?.change;
  if (!adapter || !change) {
    const failed = leases.map((lease) => ({ lease, operand: change && findOperand(change, lease) }));
    await recordFailures(deps, failed, "unknown");
    return "resolved";
  }
  const checks = await Promise.all(leases.map((lease) => checkLease(deps, adapter, change, lease)));
  const isDoneAt = ({ lease, host }: LeaseCheck): boolean =>
    host !== undefined && isDone(lease.operation, host, lease.mayBeGone);
  // A plan is completed only if its apply was interrupted on all its targets; otherwise what it set is rolled back.
  const isSet = checks.every(isDoneAt) && (!isPlan(change) || isAllRunning(adapter, change, leases));
  if (first.operation === "apply" && isSet) return completeOrRollBack(deps, checks);
  const done = checks.filter(isDoneAt);
  const notDone = checks.filter((check) => !isDoneAt(check));
  const resolved: ResolvedOperand[] = [];
  for (const { host = "unknown", lease, operand } of notDone) {
    // A host that did not answer in time may still carry out the operation.
    const isOpen = host === "unknown" || mayTakeEffect(lease, deps.clock.now());
    // The restore that an open operation took over is asked for once the operation is resolved.
    const restore = isOpen ? undefined : await findTakenRestore(deps, operand, lease);
    resolved.push({ lease, operand, host, isOpen, restore });
  }
  if (first.operation === "apply") resolved.push(...(await rollBackDone(deps, adapter, done)));
  else
    for (const { lease, operand, host } of done) {
      const restore = await findTakenRestore(deps, operand, lease);
      const result = { name: nameSystem(adapter, operand), result: host! };
      resolved.push({ lease, operand, host: host!, isOpen: false, restore, adapter: result });
    }
  await recordResolved(deps, resolved);
  if (resolved.every(({ isOpen }) => !isOpen)) return "resolved";
  const silent = checks.filter(({ host }) => host === undefined);
  if (silent.length === 0) return "unknown";
  return silent.every(({ isMoved }) => isMoved) ? "stranded" : "silent";
}

/** Reads the host's state of the operand of a lease, unless the configuration has moved its location. */
async function checkLease(
  deps: ChangesDeps,
  adapter: ProductAdapter,
  change: Change,
  lease: OperationLease,
): Promise<LeaseCheck> {
  const operand = findOperand(change, lease);
  const moved = lease.over_drift ? undefined : findMove(adapter, operand);
  // An apply is done only while the target holds its value; a rollback leaves another one.
  const readState = lease.operation === "apply" ? tryReadStateInForce : tryReadHostState;
  if (!moved) return { lease, operand, host: await readState(adapter, operand) };
  deps.log.warn("an interrupted operation cannot be resolved", {
    change_id: change.change_id,
    system: nameSystem(adapter, operand),
    error: describeMove(moved),
  });
  return { lease, operand, host: undefined, isMoved: true };
}

/** Returns true if an apply was interrupted on all targets: none has failed, and none is being rolled back. */
const isAllRunning = (adapter: ProductAdapter, change: Change, leases: readonly OperationLease[]): boolean =>
  leases.every((lease) => !hasRecordedFailure(lease) && !lease.back) &&
  leases.length === listOperands(change).filter((operand) => findCarrier(adapter, operand)).length;

/** Rolls back the targets that a failed apply of a plan set, in reverse order. */
async function rollBackDone(
  deps: ChangesDeps,
  adapter: ProductAdapter,
  done: readonly LeaseCheck[],
): Promise<ResolvedOperand[]> {
  if (done.length === 0) return [];
  // The renewed leases keep other processes from working on these targets meanwhile.
  const renewed = await recordHostEffect<OperationLease[]>(deps, async (transaction) => {
    const leases: OperationLease[] = [];
    for (const { lease } of done) leases.push(await renewLease(transaction, lease, deps.owner));
    return leases;
  });
  const operands = done.map(({ operand }, index) => ({ operand, index }));
  const resolved: ResolvedOperand[] = [];
  for (const group of groupOperands(adapter, operands).reverse()) {
    const hosts = await undoOnHost(
      adapter,
      group.map(({ operand }) => operand),
    );
    for (const [position, { operand, index }] of group.entries()) {
      const host = hosts[position]!;
      // The earlier state of the lease says if its failure is recorded already.
      const lease = { ...renewed[index]!, state: done[index]!.lease.state };
      // An apply takes over the lease of no restore.
      resolved.push({ lease, operand, host, isOpen: !isGone(host), isRenewed: true, restore: "not_done" });
    }
  }
  return resolved;
}

/** Records new states of operands in one entry, and ends or keeps their leases. */
async function recordResolved(deps: ChangesDeps, resolved: readonly ResolvedOperand[]): Promise<void> {
  const [{ lease: firstLease }] = resolved as readonly [ResolvedOperand];
  // A silent host is asked in each cycle, but recorded only once.
  const isRecorded = resolved.every(({ lease, isOpen }) => isOpen && hasRecordedFailure(lease));
  if (isRecorded && !resolved.some(({ isRenewed }) => isRenewed)) return;
  await recordHostEffect<void>(deps, async (transaction) => {
    let before = await transaction.change(firstLease.change_id, "resolving");
    for (const { lease, isOpen, restore, adapter } of resolved)
      if (isOpen) await storeUnresolved(transaction, lease, lease.state === "running" ? "unresolved" : lease.state);
      else before = await endOrKeepLease(transaction, lease, before, { failed: !adapter, restore });
    if (isRecorded) return;
    const isRolledBack = firstLease.operation === "rollback" && resolved.every(({ adapter }) => adapter);
    const others = listAppliedOperands(before).filter((operand) =>
      resolved.every((state) => state.operand.change_id !== operand.change_id),
    );
    // An applied target without a lease was not rolled back, unless no target system carries it.
    const isCarried = (operand: Change): boolean => findCarrier(transaction.product.adapter, operand) !== undefined;
    if (isRolledBack && !others.some(isCarried)) {
      const done = [...resolved, ...others.map((operand) => ({ operand, adapter: null }))];
      await recordSuccess(transaction, before, firstLease, done as DoneOperand[], describeResolution(firstLease));
      return;
    }
    const error = isPlan(before.change) ? PLAN_FAILURES[firstLease.operation] : undefined;
    const failure = createFailure(firstLease, combineHosts(resolved), error);
    await recordFailure(transaction, before, firstLease, failure, resolved);
  });
}

/** Records the failure of operations whose state cannot be asked, since the adapter or the change is missing. */
const recordFailures = (
  deps: ChangesDeps,
  failed: readonly { lease: OperationLease; operand: Change | undefined }[],
  host: HostState,
): Promise<void> =>
  recordHostEffect<void>(deps, async (transaction) => {
    const firstLease = failed[0]!.lease;
    let before = await transaction.change(firstLease.change_id, "resolving");
    // A restore whose lease the operation took over cannot be asked for either, and counts as not done.
    for (const { lease } of failed)
      before = await endOrKeepLease(transaction, lease, before, { failed: true, restore: "not_done" });
    const states = failed.flatMap(({ operand }) => (operand ? [{ operand, host }] : []));
    await recordFailure(transaction, before, firstLease, createFailure(firstLease, host), states);
  });

const createFailure = (lease: OperationLease, host: HostFailure["host"], error?: string): HostFailure => ({
  stage: "interrupted",
  error: error ?? (hasRecordedFailure(lease) ? ANSWERED_LATE : INTERRUPTED),
  host,
  ...(hasRecordedFailure(lease) && { late: true }),
});

/** Completes an apply that the host shows as done, or rolls it back if its consent is no longer valid; in doubt it waits. */
async function completeOrRollBack(deps: ChangesDeps, checks: readonly LeaseCheck[]): Promise<ResolutionOutcome> {
  const adapter = deps.product!.adapter!;
  const leases = checks.map(({ lease }) => lease);
  const [firstLease] = leases as [OperationLease];
  type LeasesToRollBack = readonly OperationLease[];
  const toRollBack = await recordHostEffect<LeasesToRollBack | "in doubt" | undefined>(deps, async (transaction) => {
    const { record: before, fields } = await transaction.ledger.change(firstLease.change_id);
    const recorded = fields.length === 0 ? before : await transaction.ledger.state(firstLease.change_id, before);
    // The log has this apply already, so these leases are not of this service's operations: they end, and nothing is rolled back.
    if (recorded?.change.status === "applied") {
      for (const lease of leases) await endLease(transaction, lease);
      return undefined;
    }
    const validConsent = fields.length === 0 ? await findValidConsent(transaction, deps, before) : undefined;
    if (validConsent === "in doubt") return validConsent;
    // The renewed leases keep other processes from working on these targets meanwhile.
    if (!validConsent) {
      const renewed: OperationLease[] = [];
      for (const lease of leases) renewed.push(await renewLease(transaction, lease, deps.owner));
      return renewed;
    }
    for (const lease of leases) await endLease(transaction, lease);
    // Operands that no target system carries have no lease; they are applied by their entry alone.
    const others = listOperands(before.change).filter(({ change_id }) =>
      checks.every(({ operand }) => operand.change_id !== change_id),
    );
    const done = [
      ...checks.map(({ operand, host }) => ({
        operand,
        adapter: { name: nameSystem(adapter, operand), result: host! },
      })),
      ...others.map((operand) => ({ operand, adapter: null })),
    ];
    await recordSuccess(transaction, before, { ...firstLease, ...validConsent }, done, describeResolution(firstLease));
    return undefined;
  });
  if (!toRollBack) return "resolved";
  if (toRollBack !== "in doubt") return rollBackUnconsented(deps, adapter, checks, toRollBack);
  const inDoubt = { host: "unknown", isOpen: true, restore: undefined } as const;
  await recordResolved(
    deps,
    checks.map(({ lease, operand }) => ({ lease, operand, ...inDoubt })),
  );
  return "unknown";
}

/** Returns the field of the entry that says when the result was found: after a recorded failure, or after an interruption. */
const describeResolution = (lease: OperationLease): { late: true } | { resolved_after_interruption: true } =>
  hasRecordedFailure(lease) ? { late: true } : { resolved_after_interruption: true };

/** Rolls back an apply whose consent is no longer valid, under its renewed leases, and records the failure. */
async function rollBackUnconsented(
  deps: ChangesDeps,
  adapter: ProductAdapter,
  checks: readonly LeaseCheck[],
  renewedLeases: readonly OperationLease[],
): Promise<ResolutionOutcome> {
  const firstLease = checks[0]!.lease;
  const states: OperandState[] = [];
  for (const group of groupOperands(adapter, checks).reverse()) {
    const hosts = await undoOnHost(
      adapter,
      group.map(({ operand }) => operand),
    );
    states.push(...group.map(({ operand }, index) => ({ operand, host: hosts[index]! })));
  }
  const host = combineHosts(states);
  const failure: HostFailure = {
    stage: "consent",
    error: NO_CONSENT,
    host,
    ...(hasRecordedFailure(firstLease) && { late: true }),
  };
  await recordHostEffect<void>(deps, async (transaction) => {
    for (const [index, lease] of renewedLeases.entries()) {
      const state = states.find(({ operand }) => operand.change_id === checks[index]!.operand.change_id)!;
      if (isGone(state.host)) await endLease(transaction, lease);
      else await storeUnresolved(transaction, lease);
    }
    // A host that rejects the rollback is asked in each cycle, but recorded only once.
    if (isGone(host) || !hasRecordedFailure(firstLease)) {
      const before = await transaction.change(firstLease.change_id, "resolving");
      await recordFailure(transaction, before, firstLease, failure, states);
    }
  });
  return isGone(host) ? "resolved" : "unknown";
}

/**
 * Checks the consent of an apply that the host shows as done. Returns undefined if it is no longer valid, `in doubt` if its
 * deadline may have passed; otherwise the facts for the entry, with the changes in force if another took the target since.
 */
async function findValidConsent(
  transaction: Transaction,
  deps: ChangesDeps,
  before: ChangeRecord,
): Promise<Pick<OperationLease, "target_moved"> | "in doubt" | undefined> {
  const { tx, product, now, isBehind } = transaction;
  const { policy } = product.intent;
  const isOverdue = (at: number): boolean => findOverdueStep(before.change, policy, at) !== undefined;
  if (isOverdue(await readConfirmedTime(deps, tx))) return undefined;
  if (isOverdue(now) || (isBehind && policy.approval_ttl_hours !== undefined)) return "in doubt";
  try {
    const proven = await filterProvenConsents(transaction, before);
    requireOperable(proven, "apply", product.intent);
    await requireInsideMandate(transaction, proven);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
  const target_moved = { before: before.target_owner, now: await transaction.ledger.targetOwner(before.change) };
  if (describeMovedTarget(target_moved) === undefined) return {};
  return policy.on_stale === "block" ? undefined : { target_moved };
}
