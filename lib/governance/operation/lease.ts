/** The durable intention to run the adapter: made before it runs, recovered by whoever comes after a crash. */
import { AppError } from "../../kit/errors.ts";
import type { Lease } from "../records.ts";
import type { Tx } from "../../store/store.ts";
import type { Transaction } from "../transaction.ts";

const LEASE_MS = 60_000;

/** The lease on a change, if there is one. */
export const readLease = async (tx: Tx, changeId: string): Promise<Lease | undefined> =>
  (await tx.get("leases", changeId))?.value;

/** Takes the lease; it is durable when the transaction is. */
export function takeLease(transaction: Transaction, asked: Omit<Lease, "number" | "at" | "ends">): Lease {
  const { tx, at, now, length } = transaction;
  const lease: Lease = { ...asked, number: length + 1, at, ends: now + LEASE_MS };
  tx.put("leases", lease.change_id, lease);
  return lease;
}

/** Whether nobody runs under it any more: its time is over, or its owner is the asking process, whose turn it is not. */
export const isAbandoned = (lease: Lease, owner: string, now: number): boolean =>
  lease.unsettled === true || lease.owner === owner || now >= lease.ends;

/** Ends a lease with the result of its operation; 409 when another has taken the change over meanwhile. */
export async function endLease(transaction: Transaction, lease: Lease): Promise<void> {
  await requireLease(transaction, lease);
  transaction.tx.delete("leases", lease.change_id);
}

/** Keeps a lease whose failure is recorded, until the host says how it was left; 409 as `endLease`. */
export async function keepUnsettled(transaction: Transaction, lease: Lease): Promise<void> {
  await requireLease(transaction, lease);
  transaction.tx.put("leases", lease.change_id, { ...lease, unsettled: true });
}

/** Takes an abandoned lease over, to do the rest of its work alone; 409 as `endLease`. */
export async function renewLease(transaction: Transaction, lease: Lease, owner: string): Promise<Lease> {
  await requireLease(transaction, lease);
  const { unsettled: _, ...kept } = lease;
  const renewed: Lease = { ...kept, owner, ends: transaction.now + LEASE_MS };
  transaction.tx.put("leases", lease.change_id, renewed);
  return renewed;
}

/** 409 while an operation runs on the host, or while nobody knows how one left it. */
export async function requireIdle({ tx }: Transaction, changeId: string): Promise<void> {
  const lease = await readLease(tx, changeId);
  if (lease) throw (lease.unsettled ? unsettled : inProgress)(changeId);
}

/** A lease that was taken over has its number, and ends at another time. */
async function requireLease(transaction: Transaction, lease: Lease): Promise<void> {
  const current = await readLease(transaction.tx, lease.change_id);
  if (current?.number !== lease.number || current.ends !== lease.ends) throw inProgress(lease.change_id);
}

/** 409 `operation_in_progress`. */
export const inProgress = (changeId: string): AppError =>
  new AppError("operation_in_progress", `another process is at work on ${changeId}; try again in a minute`, {
    change_id: changeId,
  });

/** 409 `operation_in_progress`: nobody knows what the host holds of the change. */
export const unsettled = (changeId: string): AppError =>
  new AppError(
    "operation_in_progress",
    `the host product has not said how the last operation left ${changeId}; it is asked again in each cycle`,
    { change_id: changeId },
  );
