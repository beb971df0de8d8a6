/** Settles operations that a crash, a lost process or a silent host left half done, by what the host answers. */
import { AppError } from "../../kit/errors.ts";
import { certainNow } from "../certain_time.ts";
import type { ChangesDeps } from "../deps.ts";
import { foldOf } from "../history.ts";
import { asProven } from "../proven_consents.ts";
import { type Lease, readRecord } from "../records.ts";
import { overdueStep } from "../rules/overdue.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { targetMoved } from "../rules/stale_target.ts";
import { requireOperable } from "../rules/state_machine.ts";
import { ownerTold } from "../target_told.ts";
import { governed, type Transaction } from "../transaction.ts";
import { currentLease, endLease, isAbandoned, keepUnsettled, mayStillCome, renewLease } from "./lease.ts";
import { recordFailure, recordSuccess } from "./record_result.ts";
import { askHost, askInForce, type HostFailure, isDone, isGone, undoOnHost } from "./run_adapter.ts";

/** So many hosts' answers are waited for at a time. */
const BATCH = 20;

/** `settled`, or why not: the host holds something that is neither done nor undone, or it cannot be asked. */
export type Recovered = "settled" | "unknown" | "silent";

const NO_CONSENT = "the host shows the change, and its consent no longer stands; it was taken back";
const INTERRUPTED = "the service stopped before the operation ended; ask for it again";
const ANSWERED_LATE = "the host did not show the operation as done when it answered again; ask for it again";

/** Asks the host about one abandoned lease, and completes the change or records the failure; else the lease stays. */
export async function recoverLease(deps: ChangesDeps, lease: Lease): Promise<Recovered> {
  const adapter = deps.product?.adapter;
  const change = (await readRecord(deps.store, lease.change_id))?.change;
  if (!adapter || !change) {
    await settle(deps, lease, failureOf(lease, "unknown"));
    return "settled";
  }
  const host = await (lease.operation === "apply" ? askInForce : askHost)(adapter, change);
  if (host === undefined || host === "unknown") {
    await keep(deps, lease);
    return host ?? "silent";
  }
  const done = isDone(lease.operation, host, lease.mayBeGone);
  // A host that did not answer in time may be at it still.
  if (!done && mayStillCome(lease, deps.clock.now())) return "unknown";
  if (!done || lease.operation === "rollback") {
    await settle(deps, lease, done ? undefined : failureOf(lease, host), host);
    return "settled";
  }
  const left = await takeBackUnlessConsented(deps, lease, host);
  return left === "unknown" ? left : "settled";
}

/** What has happened on the host is recorded whatever the clock says. */
const recorded = <T>(deps: ChangesDeps, decision: (transaction: Transaction) => Promise<T>): Promise<T> =>
  governed<T>({ deps }, decision, { anyClock: true }) as Promise<T>;

/** Records how the host was left, under the lease's number. */
const settle = (deps: ChangesDeps, lease: Lease, failure: HostFailure | undefined, host?: string) =>
  recorded<void>(deps, async (transaction) => {
    const before = await transaction.change(lease.change_id, "settling");
    await endLease(transaction, lease);
    if (failure) recordFailure(transaction, before, lease, failure);
    else await complete(transaction, before, lease, host!);
  });

const complete = (transaction: Transaction, before: ChangeRecord, lease: Lease, result: string) =>
  recordSuccess(
    transaction,
    before,
    lease,
    { name: transaction.product.adapter!.name, result },
    lease.unsettled ? { late: true } : { resolved_after_interruption: true },
  );

const failureOf = (lease: Lease, host: HostFailure["host"]): HostFailure => ({
  stage: "interrupted",
  error: lease.unsettled ? ANSWERED_LATE : INTERRUPTED,
  host,
  ...(lease.unsettled && { late: true }),
});

/** The failure stands in the log once; from then on the lease alone tells that the host has yet to answer. */
async function keep(deps: ChangesDeps, lease: Lease): Promise<void> {
  if (lease.unsettled) return;
  await recorded<void>(deps, async (transaction) => {
    await keepUnsettled(transaction, lease);
    recordFailure(
      transaction,
      await transaction.change(lease.change_id, "settling"),
      lease,
      failureOf(lease, "unknown"),
    );
  });
}

/** The host shows an apply as done: it is, when its consent still stands; otherwise it is taken back. */
async function takeBackUnlessConsented(deps: ChangesDeps, lease: Lease, shown: string) {
  const adapter = deps.product!.adapter!;
  type Refused = { lease: Lease; before: ChangeRecord };
  const refused = await recorded<Refused | "in doubt" | undefined>(deps, async (transaction) => {
    const { record: before, fields } = await transaction.held(lease.change_id);
    const told = fields.length === 0 ? before : foldOf(await transaction.evidence.about(lease.change_id, 1));
    // Its apply is in the log: somebody wrote the lease into the store, and nothing is taken back on its word.
    if (told?.change.status === "applied") {
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
  const failure: HostFailure = { stage: "consent", error: NO_CONSENT, host, ...(lease.unsettled && { late: true }) };
  await recorded<void>(deps, async (transaction) => {
    const gone = isGone(host);
    if (gone) await endLease(transaction, refused.lease);
    else await keepUnsettled(transaction, refused.lease);
    // A host that refuses to take it back is asked in each cycle, and told of once.
    if (gone || !lease.unsettled)
      recordFailure(transaction, await transaction.change(lease.change_id, "settling"), lease, failure);
  });
  return isGone(host) ? host : "unknown";
}

/**
 * What an apply goes on over that the host shows as done; undefined where its consent does not stand, or carry, any more.
 * `in doubt`: by the clock alone its time is over, or that cannot be said.
 */
async function standingConsent(
  transaction: Transaction,
  deps: ChangesDeps,
  before: ChangeRecord,
): Promise<Pick<Lease, "target_moved"> | "in doubt" | undefined> {
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
  const target_moved = { before: before.target_owner, now: await ownerTold(transaction, before.change) };
  if (targetMoved(target_moved) === undefined) return {};
  return policy.on_stale === "block" ? undefined : { target_moved };
}

/**
 * Settles abandoned leases and returns how many. `all`: at the start of a process that alone owns its store, no other can
 * be running one.
 */
export async function recoverAbandoned(deps: ChangesDeps, all = false): Promise<number> {
  let recovered = 0;
  for (let after = "", more = true; more;) {
    const page = await deps.store.list("leases", { after, limit: BATCH });
    const leases = page.map(({ value }) => value).filter(isLease);
    const settled = await Promise.all(leases.map((lease) => recoverOne(deps, lease, all)));
    recovered += settled.filter(Boolean).length;
    after = page.at(-1)?.id ?? after;
    more = page.length === BATCH;
  }
  return recovered;
}

/** What somebody put there in its place must not keep the others from being settled. */
const isLease = (lease: Partial<Lease> | null): boolean => typeof lease?.change_id === "string";

/** Settles a lease that is over, in its change's turn, as far as the host says how. */
export const settleEndedLease = (deps: ChangesDeps, lease: Lease): Promise<boolean> => recoverOne(deps, lease, false);

const recoverOne = (deps: ChangesDeps, lease: Lease, all: boolean): Promise<boolean> =>
  deps.mutex(lease.change_id, async () => {
    const current = await currentLease(deps.store, lease);
    if (!current || !(all || isAbandoned(current, deps.owner, deps.clock.now()))) return false;
    try {
      return (await recoverLease(deps, current)) === "settled";
    } catch (error) {
      // One change that does not fit its lease must not keep the others, or the service, from going on.
      if (!(error instanceof AppError)) throw error;
      const { change_id } = current;
      if (error.code !== "operation_in_progress")
        deps.log.warn("an interrupted operation cannot be settled", { change_id, error: error.message });
      return false;
    }
  });
