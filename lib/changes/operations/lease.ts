/** The durable intention to run the adapter: made before it runs, recovered by whoever comes after a crash. */
import { AppError } from "../../kit/errors.ts";
import { type Lease, placeOf, targetKey } from "../records.ts";
import type { Change } from "../rules/change.ts";
import type { Reads } from "../../store/store.ts";
import type { Transaction } from "../transaction.ts";

const LEASE_MS = 60_000;

/** The lease on a change, if there is one. */
export const readLease = async (reads: Pick<Reads, "get">, change: Change): Promise<Lease | undefined> =>
  (await reads.get("leases", placeOf(change)))?.value;

/** A lease as it is now, if it is not ended. */
export const currentLease = async (reads: Pick<Reads, "get">, lease: Lease): Promise<Lease | undefined> =>
  (await reads.get("leases", lease.place))?.value;

/** Operations on a target that are looked for at a time; there are more only of a host that is silent for long. */
export const BESIDE = 10;

/**
 * The lease on another change of the same tenant and target: one under which an operation runs, before those that are left.
 * While there is one, what a change is judged by may not hold when it is done.
 */
export async function leaseBeside(reads: Pick<Reads, "list">, change: Change): Promise<Lease | undefined> {
  const page = await reads.list("leases", { prefix: targetKey(change), limit: BESIDE });
  return besideIn(
    change,
    page.map(({ value }) => value),
  );
}

/** That lease among those of the target. */
export function besideIn(change: Change, leases: readonly Lease[]): Lease | undefined {
  const others = leases.filter(({ change_id }) => change_id !== change.change_id);
  return others.find(({ unsettled }) => !unsettled) ?? others[0];
}

/** Takes the lease on a change and its target; it is durable when the transaction is. */
export function takeLease(
  transaction: Transaction,
  change: Change,
  asked: Omit<Lease, "change_id" | "place" | "number" | "at" | "ends">,
): Lease {
  const { tx, at, now, length } = transaction;
  const { change_id } = change;
  const place = placeOf(change);
  const lease: Lease = { ...asked, change_id, place, number: length + 1, at, ends: now + LEASE_MS };
  tx.put("leases", place, lease);
  return lease;
}

/** Whether its time is over, or nobody runs under it any more: then anybody may settle it, in its change's turn. */
export const isOver = ({ unsettled, ends }: Lease, now: number): boolean => unsettled === true || now >= ends;

/** Whether nobody runs under it any more: its time is over, or its owner is the asking process, whose turn it is not. */
export const isAbandoned = (lease: Lease, owner: string, now: number): boolean =>
  lease.owner === owner || isOver(lease, now);

/** Ends a lease with the result of its operation; 409 when another has taken the change over meanwhile. */
export async function endLease(transaction: Transaction, lease: Lease): Promise<void> {
  await requireLease(transaction, lease);
  transaction.tx.delete("leases", lease.place);
}

/** Keeps a lease whose failure is recorded, until the host says how it was left; 409 as `endLease`. */
export async function keepUnsettled(
  transaction: Transaction,
  lease: Lease,
  { unanswered }: Pick<Lease, "unanswered"> = lease,
): Promise<void> {
  await requireLease(transaction, lease);
  transaction.tx.put("leases", lease.place, { ...lease, unsettled: true, ...(unanswered && { unanswered }) });
}

/** How long a host may go on with what it did not answer; milliseconds from the end of the lease. */
const STILL_COMING_MS = 10 * 60_000;

/** Whether what the host does not show of an operation may still come. */
export const mayStillCome = ({ unanswered, ends }: Lease, now: number): boolean =>
  unanswered === true && now < ends + STILL_COMING_MS;

/** Takes an abandoned lease over, to do the rest of its work alone; 409 as `endLease`. */
export async function renewLease(transaction: Transaction, lease: Lease, owner: string): Promise<Lease> {
  await requireLease(transaction, lease);
  const { unsettled: _, unanswered: __, ...kept } = lease;
  const renewed: Lease = { ...kept, owner, ends: transaction.now + LEASE_MS };
  transaction.tx.put("leases", lease.place, renewed);
  return renewed;
}

/** More than run at once: an operation that ends later does so when its own process is gone. */
const MOST_ENDED = 40;

/** Leases that end later than one taken now would were taken by a clock that was ahead: they end as if taken now. */
export async function endLongLeases({ tx, now }: Transaction): Promise<void> {
  const ends = now + LEASE_MS;
  for (const { id, value } of await tx.list("leases", { limit: MOST_ENDED }))
    if (value.ends > ends) tx.put("leases", id, { ...value, ends });
}

/** A lease that was taken over has its number, and ends at another time. */
async function requireLease(transaction: Transaction, lease: Lease): Promise<void> {
  const current = await currentLease(transaction.tx, lease);
  if (current?.number !== lease.number || current.ends !== lease.ends) throw inProgress(lease.change_id);
}

/** 409 `operation_in_progress`. */
export const inProgress = (changeId: string): AppError =>
  new AppError("operation_in_progress", `another process is at work on ${changeId}; try again in a minute`, {
    change_id: changeId,
  });

/** 409 `operation_in_progress`: another change of the same target is worked on. */
export const targetInUse = (changeId: string, { change_id: other, operation, unsettled }: Lease): AppError =>
  new AppError(
    "operation_in_progress",
    unsettled
      ? `the host product has not said how the last operation left ${other}, which is on the same target; it is asked again in each cycle, and by each request to ${operation === "apply" ? "apply" : "roll back"} ${other}`
      : `${other}, which is on the same target, is being worked on; try again in a minute`,
    { change_id: changeId, conflicts: [other] },
  );

/** 409 `operation_in_progress`: nobody knows what the host holds of the change. */
export const unsettled = (changeId: string): AppError =>
  new AppError(
    "operation_in_progress",
    `the host product has not said how the last operation left ${changeId}; it is asked again in each cycle`,
    { change_id: changeId },
  );
