/** The durable intention to run the adapter: stored before it runs, resolved by the next process after a crash. */
import { AppError } from "../../kit/errors.ts";
import { describeMove, findMove } from "../locations.ts";
import {
  type Lease,
  type LeaseFacts,
  type OperationLease,
  type OperationRequest,
  formatTargetChangeKey,
  type RestoreRequest,
  type StageRequest,
  type TakenLease,
  formatTargetKey,
} from "../records.ts";
import type { Change } from "../rules/change.ts";
import { toChangeId, listOperands } from "../rules/operands.ts";
import type { Operation } from "../rules/command.ts";
import type { Reads } from "../../store/store.ts";
import type { Transaction } from "../transaction.ts";
import type { ProductAdapter } from "./adapter_port.ts";

/** Time in which no other process may take over a running operation. */
const LEASE_TTL_MS = 60_000;

/** Returns the key of the lease on an operand, which is a change, or one target of a plan: from its target and the change's id. */
export const formatLeaseKey = (operand: Change): string =>
  formatTargetChangeKey({ ...operand, change_id: toChangeId(operand.change_id) });

/** Lists the keys of the leases on a change, in the order of its operands. */
export const listLeaseKeys = (change: Change): string[] => listOperands(change).map(formatLeaseKey);

/** Reads the leases on a change, in the order of its operands. */
export async function readLeases(reads: Pick<Reads, "get">, change: Change): Promise<Lease[]> {
  const records = await Promise.all(listLeaseKeys(change).map((key) => reads.get("leases", key)));
  return records.flatMap((record) => record?.value ?? []);
}

/** Reads the first lease on a change, if there is one. */
export const readLease = async (reads: Pick<Reads, "get">, change: Change): Promise<Lease | undefined> =>
  (await readLeases(reads, change))[0];

/** Returns the operand of a change that a lease is on; the change itself if it has no such operand. */
export const findOperand = (change: Change, { place: key }: Lease): Change =>
  listOperands(change).find((operand) => formatLeaseKey(operand) === key) ?? change;

/** Reads the current state of a lease; undefined once it has ended. */
export const readCurrentLease = async (reads: Pick<Reads, "get">, lease: Lease): Promise<Lease | undefined> =>
  (await reads.get("leases", lease.place))?.value;

/** Returns the unresolved restore or stage of a lease: the lease itself, or the one that its rollback took over. */
export function findTakenLease(lease: Lease | undefined): TakenLease {
  if (lease?.operation === "restore") return { unresolved_restore: lease };
  if (lease?.operation === "stage") return { unresolved_stage: lease };
  const { unresolved_restore, unresolved_stage } = lease ?? {};
  return { ...(unresolved_restore && { unresolved_restore }), ...(unresolved_stage && { unresolved_stage }) };
}

/** Maximum number of leases that are read for a target; more can exist only if a host does not answer for long. */
export const MAX_LEASES_PER_TARGET = 10;

/** Lists the leases of other changes on the targets of operands. */
export async function listOtherLeases(reads: Pick<Reads, "list">, operands: readonly Change[]): Promise<Lease[]> {
  const pages = await Promise.all(
    operands.map((operand) => reads.list("leases", { prefix: formatTargetKey(operand), limit: MAX_LEASES_PER_TARGET })),
  );
  const ownIds = new Set(operands.map(({ change_id }) => toChangeId(change_id)));
  return pages.flat().flatMap(({ value }) => (ownIds.has(value.change_id) ? [] : [value]));
}

/**
 * Selects the lease that another change has on the target of a change; a running one before unresolved ones. While it exists, the
 * facts that the change is judged by may still change.
 */
export const selectOtherLease = (change: Change, leases: readonly Lease[]): Lease | undefined => {
  const others = leases.filter(({ change_id }) => change_id !== change.change_id);
  return others.find(({ state }) => state === "running") ?? others[0];
};

/** Takes the lease on an operand and its target; it is durable when the transaction has committed. */
export function takeLease<R extends OperationRequest | RestoreRequest | StageRequest>(
  transaction: Transaction,
  operand: Change,
  request: R & Pick<LeaseFacts, "owner" | "mayBeGone">,
): R & LeaseFacts {
  const { tx, at, now, length } = transaction;
  const change_id = toChangeId(operand.change_id);
  const key = formatLeaseKey(operand);
  const ends = now + LEASE_TTL_MS;
  const facts = { change_id, place: key, number: length + 1, at, ends, state: "running" } as const;
  const lease: R & LeaseFacts = { ...request, ...facts };
  tx.put("leases", key, lease as Lease);
  return lease;
}

/** Returns true if no operation runs under a lease any more: any process may resolve it while holding the lock of its change. */
export const isUnattended = ({ state, ends }: Lease, now: number): boolean => state !== "running" || now >= ends;

/** Returns true if a lease is unattended, or belongs to this process, which holds the lock of its change. */
export const isAbandoned = (lease: Lease, owner: string, now: number): boolean =>
  lease.owner === owner || isUnattended(lease, now);

/** Ends a lease with the result of its operation. Errors: 409 if another process has taken the lease over. */
export async function endLease(transaction: Transaction, lease: Lease): Promise<void> {
  await requireLease(transaction, lease);
  transaction.tx.delete("leases", lease.place);
}

/** Stores a lease as unresolved after a recorded failure, until the host says how the operation ended. Errors: as `endLease`. */
export async function storeUnresolved(
  transaction: Transaction,
  lease: Lease,
  state: "unresolved" | "unanswered" = "unresolved",
): Promise<void> {
  await requireLease(transaction, lease);
  transaction.tx.put("leases", lease.place, { ...lease, state });
}

/** Time after the end of a lease in which a host may still carry out an operation that it did not answer. */
const LATE_EFFECT_MS = 10 * 60_000;

/** Returns true if an operation that the host does not show may still take effect. */
export const mayTakeEffect = ({ state, ends }: Lease, now: number): boolean =>
  state === "unanswered" && now < ends + LATE_EFFECT_MS;

/**
 * Returns true if an operation whose outcome on the host is not known is recorded as failed in the log, or was stored as
 * unresolved: a restore and an advance have no entry then.
 */
export const hasRecordedFailure = ({ state, back }: Lease): boolean => state !== "running" || back === "failed";

/** Takes over an abandoned lease in order to undo what its operation set. Errors: as `endLease`. */
export async function renewLease(
  transaction: Transaction,
  lease: OperationLease,
  owner: string,
): Promise<OperationLease> {
  await requireLease(transaction, lease);
  const back = hasRecordedFailure(lease) ? "failed" : "interrupted";
  const renewed: OperationLease = { ...lease, owner, ends: transaction.now + LEASE_TTL_MS, state: "running", back };
  transaction.tx.put("leases", lease.place, renewed);
  return renewed;
}

/** Maximum number of leases that one transaction shortens: those of four plans of 20 targets, within the 99 writes of a transaction. */
const MAX_SHORTENED_LEASES = 80;

/** Shortens leases that were taken while the clock was ahead: they end as if taken now. */
export async function shortenLeases({ tx, now }: Transaction): Promise<void> {
  const ends = now + LEASE_TTL_MS;
  for (const { id, value } of await tx.list("leases", { limit: MAX_SHORTENED_LEASES }))
    if (value.ends > ends) tx.put("leases", id, { ...value, ends });
}

/**
 * Returns true if both are the same state of the same lease. `ends` is compared because a takeover leaves the number unchanged,
 * and `restore_id` because a failed restore appends no entry, so that the next lease has the same number.
 */
export const isSameLease = (a: Lease | undefined, b: Lease): boolean =>
  a?.number === b.number && a.ends === b.ends && restoreId(a) === restoreId(b);

const restoreId = (lease: Lease): string | undefined => (lease.operation === "restore" ? lease.restore_id : undefined);

async function requireLease(transaction: Transaction, lease: Lease): Promise<void> {
  if (!isSameLease(await readCurrentLease(transaction.tx, lease), lease)) throw createInProgressError(lease.change_id);
}

/**
 * Creates the error for a change under a lease: 409 `operation_in_progress`. `stranded`: the reason why the location of the
 * operation cannot be read any more.
 */
export function createLeaseError({ change_id, operation, state }: Lease, stranded?: string): AppError {
  if (state === "running") return createInProgressError(change_id);
  const problem = `the host product has not said how the last operation left ${change_id}`;
  const advice =
    operation === "apply" ? `revoke ${change_id}` : `roll ${change_id} back with over_drift at its current location`;
  const message = stranded
    ? `${problem}, and it cannot be asked: ${stranded}; set the configuration as it was, or ${advice}`
    : `${problem}; it is asked again in each cycle`;
  return new AppError("operation_in_progress", message, { change_id });
}

/** The operations as verbs. */
export const OPERATION_VERBS = {
  apply: "apply",
  rollback: "roll back",
  restore: "restore",
  stage: "advance",
} as const satisfies Record<Lease["operation"], string>;

export const createInProgressError = (changeId: string): AppError =>
  new AppError("operation_in_progress", `another process is at work on ${changeId}; try again in a minute`, {
    change_id: changeId,
  });

/**
 * Explains that an operation cannot be resolved because the configuration now gives its target another location. Undefined while an
 * operation runs under the lease, for a rollback with `over_drift`, and if the location is unchanged.
 */
export function explainStranded(adapter: ProductAdapter | undefined, change: Change, lease: Lease): string | undefined {
  const isOverDrift = "over_drift" in lease && lease.over_drift;
  if (lease.state === "running" || isOverDrift) return undefined;
  const moved = findMove(adapter, findOperand(change, lease));
  return moved && describeMove(moved);
}

/** Creates the error for a change whose target is under the lease of another: 409 `operation_in_progress`. */
export const createTargetInUseError = (changeId: string, { change_id: other, operation, state }: Lease): AppError =>
  new AppError(
    "operation_in_progress",
    state === "running"
      ? `${other}, which is on the same target, is being worked on; try again in a minute`
      : `the host product has not said how the last operation left ${other}, which is on the same target; it is asked again in each cycle, and by each request to ${OPERATION_VERBS[operation]} ${other}`,
    { change_id: changeId, conflicts: [other] },
  );

/** Requires that no operation on a change is under way or unresolved. Errors: 409 `operation_in_progress`. */
export async function requireNoOperation(reads: Pick<Reads, "get">, change: Change): Promise<void> {
  const lease = await readLease(reads, change);
  if (lease) throw createLeaseError(lease);
}

/**
 * Requires that no operation on another change of the target is under way (409 `operation_in_progress`). A rollback need not wait
 * for an operation that no process runs any more.
 */
export async function requireFreeTarget(
  { tx }: Transaction,
  change: Change,
  { operation, operands }: { operation: Operation; operands: readonly Change[] },
): Promise<void> {
  const other = selectOtherLease(change, await listOtherLeases(tx, operands));
  if (other && !(operation === "rollback" && other.state !== "running"))
    throw createTargetInUseError(change.change_id, other);
}
