/** Resolves operations that a crash, a lost process or a silent host left half done, by the answer of the host. */
import { AppError } from "../../kit/errors.ts";
import { listPages } from "../../store/pages.ts";
import { certainNow } from "../certain_time.ts";
import type { ChangesDeps } from "../deps.ts";
import { describeMove, findMove } from "../places.ts";
import { asProven } from "../proven_consents.ts";
import { type Lease, type OperationLease, readRecord } from "../records.ts";
import { overdueStep } from "../rules/overdue.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { targetMoved } from "../rules/stale_target.ts";
import { requireOperable } from "../rules/state_machine.ts";
import type { Transaction } from "../transaction.ts";
import {
  endLease,
  isAbandoned,
  isUnattended,
  keepUnresolved,
  listOtherLeases,
  mayTakeEffect,
  readCurrentLease,
  readLease,
  renewLease,
} from "./lease.ts";
import { recordFailure, recordSuccess } from "./record_result.ts";
import {
  findTakenRestore,
  isLate,
  leaveLease,
  type Outcome,
  recordEffect,
  resolveRestore,
  type RestoreOutcome,
} from "./resolve_restore.ts";
import { resolveAdvance } from "../rollouts/resolve_advance.ts";
import { askHost, askInForce, type HostFailure, isDone, isGone, nameSystem, undoOnHost } from "./run_adapter.ts";

/** Leases that are resolved concurrently. */
const BATCH_SIZE = 20;

/** The attempt to resolve a lease. */
export interface Resolution {
  lease: Lease;
  outcome: Outcome;
}

const NO_CONSENT = "the host shows the change, and its consent no longer stands; it was taken back";
const INTERRUPTED = "the service stopped before the operation ended; ask for it again";
const ANSWERED_LATE = "the host did not show the operation as done when it answered again; ask for it again";

/** Asks the host about an abandoned lease, and completes the change or records the failure; else the lease remains. */
async function resolveLease(deps: ChangesDeps, lease: OperationLease): Promise<Outcome> {
  const adapter = deps.product?.adapter;
  const change = (await readRecord(deps.store, lease.change_id))?.change;
  if (!adapter || !change) {
    await recordOutcome(deps, lease, { failure: createFailure(lease, "unknown"), restore: "not_done" });
    return "resolved";
  }
  const moved = lease.over_drift ? undefined : findMove(adapter, change);
  if (moved) {
    deps.log.warn("an interrupted operation cannot be resolved", {
      change_id: change.change_id,
      system: nameSystem(adapter, change),
      error: describeMove(moved),
    });
    await keep(deps, lease);
    return "silent";
  }
  const host = await (lease.operation === "apply" ? askInForce : askHost)(adapter, change);
  if (host === undefined || host === "unknown") {
    await keep(deps, lease);
    return host ?? "silent";
  }
  const done = isDone(lease.operation, host, lease.mayBeGone);
  // A host that did not answer in time may still carry it out.
  if (!done && mayTakeEffect(lease, deps.clock.now())) return "unknown";
  if (!done || lease.operation === "rollback") {
    const restore = await findTakenRestore(deps, change, lease);
    await recordOutcome(deps, lease, { failure: done ? undefined : createFailure(lease, host), host, restore });
    return "resolved";
  }
  const left = await takeBackUnlessConsented(deps, lease, host);
  return left === "unknown" ? left : "resolved";
}

/** How an operation and the restore before it were left. */
interface Left {
  failure: HostFailure | undefined;
  host?: string;
  restore: RestoreOutcome;
}

/** Records how the host was left, under the lease's number. */
const recordOutcome = (deps: ChangesDeps, lease: OperationLease, { failure, host, restore }: Left) =>
  recordEffect<void>(deps, async (transaction) => {
    const known = await transaction.change(lease.change_id, "settling");
    const before = await leaveLease(transaction, lease, known, { failed: failure !== undefined, restore });
    if (failure) recordFailure(transaction, before, lease, failure);
    else await complete(transaction, before, lease, host!);
  });

const complete = (transaction: Transaction, before: ChangeRecord, lease: OperationLease, result: string) =>
  recordSuccess(
    transaction,
    before,
    lease,
    { name: nameSystem(transaction.product.adapter!, before.change), result },
    isLate(lease) ? { late: true } : { resolved_after_interruption: true },
  );

const createFailure = (lease: OperationLease, host: HostFailure["host"]): HostFailure => ({
  stage: "interrupted",
  error: isLate(lease) ? ANSWERED_LATE : INTERRUPTED,
  host,
  ...(isLate(lease) && { late: true }),
});

/** Records the failure once; from then on the lease alone says that the host has yet to answer. */
async function keep(deps: ChangesDeps, lease: OperationLease): Promise<void> {
  if (isLate(lease)) return;
  await recordEffect<void>(deps, async (transaction) => {
    await keepUnresolved(transaction, lease);
    const before = await transaction.change(lease.change_id, "settling");
    recordFailure(transaction, before, lease, createFailure(lease, "unknown"));
  });
}

/** The host shows an apply as done: it is, when its consent still stands; otherwise it is taken back. */
async function takeBackUnlessConsented(deps: ChangesDeps, lease: OperationLease, shown: string) {
  const adapter = deps.product!.adapter!;
  type Refused = { lease: OperationLease; before: ChangeRecord };
  const refused = await recordEffect<Refused | "in doubt" | undefined>(deps, async (transaction) => {
    const { record: before, fields } = await transaction.ledger.change(lease.change_id);
    const recorded = fields.length === 0 ? before : await transaction.ledger.state(lease.change_id, before);
    // Its apply is in the log: somebody wrote the lease into the store, and nothing is taken back on its word.
    if (recorded?.change.status === "applied") {
      await endLease(transaction, lease);
      return undefined;
    }
    const standing = fields.length === 0 ? await standingConsent(transaction, deps, before) : undefined;
    if (standing === "in doubt") return standing;
    // Nobody else may be at work on the host meanwhile.
    if (!standing) return { lease: await renewLease(transaction, lease, deps.owner), before };
    await endLease(transaction, lease);
    await complete(transaction, before, { ...lease, ...standing }, shown);
    return undefined;
  });
  if (!refused) return shown;
  if (refused === "in doubt") {
    await keep(deps, lease);
    return "unknown";
  }
  const host = await undoOnHost(adapter, refused.before.change);
  const failure: HostFailure = { stage: "consent", error: NO_CONSENT, host, ...(isLate(lease) && { late: true }) };
  await recordEffect<void>(deps, async (transaction) => {
    const gone = isGone(host);
    if (gone) await endLease(transaction, refused.lease);
    else await keepUnresolved(transaction, refused.lease);
    // A host that rejects the rollback is asked in each cycle, and recorded once.
    if (gone || !isLate(lease))
      recordFailure(transaction, await transaction.change(lease.change_id, "settling"), lease, failure);
  });
  return isGone(host) ? host : "unknown";
}

/**
 * Returns the moved target that an apply passes over which the host shows as done; undefined where its consent is no longer valid.
 * `in doubt`: its deadline has passed by the clock alone, or that is not known.
 */
async function standingConsent(
  transaction: Transaction,
  deps: ChangesDeps,
  before: ChangeRecord,
): Promise<Pick<OperationLease, "target_moved"> | "in doubt" | undefined> {
  const { tx, product, now, isBehind } = transaction;
  const { policy } = product.intent;
  const overdue = (at: number): boolean => overdueStep(before.change, policy, at) !== undefined;
  if (overdue(await certainNow(deps, tx))) return undefined;
  if (overdue(now) || (isBehind && policy.approval_ttl_hours !== undefined)) return "in doubt";
  try {
    requireOperable(await asProven(transaction, before), "apply", product.intent);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
  const target_moved = { before: before.target_owner, now: await transaction.ledger.targetOwner(before.change) };
  if (targetMoved(target_moved) === undefined) return {};
  return policy.on_stale === "block" ? undefined : { target_moved };
}

/** Resolves abandoned leases and returns the number of them. `all`: at the start of the one process that owns the store. */
export async function recoverAbandoned(deps: ChangesDeps, all = false): Promise<number> {
  let recovered = 0;
  for await (const page of listPages(deps.store, "leases", { limit: BATCH_SIZE })) {
    const leases = page.map(({ value }) => value).filter(isLease);
    const outcomes = await Promise.all(leases.map((lease) => resolveAbandoned(deps, lease, all)));
    recovered += outcomes.filter((outcome) => outcome === "resolved").length;
  }
  return recovered;
}

/** A record that is no lease must not keep the others from being resolved. */
const isLease = (lease: Partial<Lease> | null): boolean => typeof lease?.change_id === "string";

/**
 * Resolves the leases on the target of a change under which no operation runs any more, each under the lock of its change.
 * Returns the attempt on the change's own lease. The caller holds no lock: two changes must not wait for each other.
 */
export async function resolveLeases(deps: ChangesDeps, changeId: string): Promise<Resolution | undefined> {
  const change = (await readRecord(deps.store, changeId))?.change;
  if (!change) return undefined;
  const [own, others] = await Promise.all([readLease(deps.store, change), listOtherLeases(deps.store, change)]);
  const ended = others.filter((lease) => isUnattended(lease, deps.clock.now()));
  const [outcome] = await Promise.all([own, ...ended].map((lease) => lease && resolveAbandoned(deps, lease)));
  return own && outcome && { lease: own, outcome };
}

/** Resolves the lease on a change where no operation runs under it any more. */
export async function resolveEndedLease(deps: ChangesDeps, changeId: string): Promise<void> {
  const change = (await readRecord(deps.store, changeId))?.change;
  const lease = change && (await readLease(deps.store, change));
  if (lease && isUnattended(lease, deps.clock.now())) await resolveAbandoned(deps, lease);
}

const resolveAbandoned = (deps: ChangesDeps, lease: Lease, all = false): Promise<Outcome | undefined> =>
  deps.mutex(lease.change_id, async () => {
    const current = await readCurrentLease(deps.store, lease);
    if (!current || !(all || isAbandoned(current, deps.owner, deps.clock.now()))) return undefined;
    try {
      if (current.operation === "restore") return await resolveRestore(deps, current);
      if (current.operation === "stage") return await resolveAdvance(deps, current);
      return await resolveLease(deps, current);
    } catch (error) {
      // One change that does not match its lease must not stop the others, or the service.
      if (!(error instanceof AppError)) throw error;
      const { change_id } = current;
      if (error.code !== "operation_in_progress")
        deps.log.warn("an interrupted operation cannot be settled", { change_id, error: error.message });
      return undefined;
    }
  });
