/**
 * Apply and rollback. Effects on the host never sit inside a transaction: the lease is made durable, the adapter runs,
 * the result is committed with its entry under the lease's number. Without an adapter one transaction does it all.
 */
import { AppError, invalidField } from "../../kit/errors.ts";
import { OutcomeUnknown, StoreBusy, StoreUnavailable } from "../../store/store.ts";
import type { HostState } from "./adapter_port.ts";
import type { Caller } from "../caller.ts";
import type { Lease } from "../records.ts";
import { isReplayed, isResult, type Replayed } from "../replies.ts";
import { rollbackTold } from "../rollback_told.ts";
import { governed, type Transaction } from "../transaction.ts";
import { begin, type Begun, type OperationInput, type OperationResult } from "./begin.ts";
import { endLease, keepUnsettled, unsettled } from "./lease.ts";
import { recordFailure, recordSuccess, shownOf } from "./record_result.ts";
import { recoverLease, settleEndedLease } from "./recover.ts";
import { type DryRunResult, rehearse, rejected } from "./rehearse.ts";
import { askHost, type HostRun, isUnresolved, lastStart, runOnHost } from "./run_adapter.ts";
import { readRecord } from "../records.ts";

/** How often a busy store is asked to keep a result; each time it tries for a few seconds itself. */
const ROUNDS = 5;

/** Runs apply or rollback; resolves with the change, the adapter's result and the entry. */
export async function runOperation(
  caller: Caller,
  input: OperationInput,
): Promise<OperationResult | DryRunResult | Replayed> {
  const { deps } = caller;
  if (input.over_drift && !input.note?.trim()) throw invalidField("note", "is required with over_drift");
  for (let left: Lease | undefined; ;) {
    const ended = await deps.mutex(input.change_id, () => inTurn(caller, input, left));
    if (isResult(ended) || isReplayed(ended)) return ended;
    // Out of this change's turn: two changes of a target must not wait for each other's.
    await settleEndedLease(deps, ended.lease);
    left = ended.lease;
  }
}

/** What is done in the change's turn; ends early where another change of the target is to be settled first. */
async function inTurn(caller: Caller, input: OperationInput, left: Lease | undefined) {
  const { deps } = caller;
  const adapter = deps.product?.adapter;
  for (let repeats: Lease | undefined; ;) {
    const before = await shownBefore(deps, input);
    const begun = await governed<Begun>(
      caller,
      (transaction) => begin(transaction, caller, input, { repeats, left, before }),
      {
        // What undoes is never refused for a clock that is set wrong.
        anyClock: input.operation === "rollback",
      },
    );
    if (isResult(begun) || isReplayed(begun) || begun.step === "settle") return begun;
    if (begun.step === "recover") {
      const host = await recoverLease(deps, begun.lease);
      if (host === "silent") throw unsettled(input.change_id);
      if (host === "unknown") repeats = begun.lease;
    } else if (begun.step === "rehearse") return rehearsed(caller, await rehearse(adapter, begun));
    else {
      const { lease, record } = begun;
      // The host is left alone once the lease is so near its end that another may be at work before this one is done.
      const inTime = (): boolean => deps.clock.now() <= lastStart(lease.ends);
      const { mayBeGone } = lease;
      const options = { inTime, mayBeGone, told: rollbackTold(deps), overDrift: lease.over_drift };
      const run = await runOnHost(adapter!, record.change, input.operation, options);
      return keepResult(caller, lease, run);
    }
  }
}

/** What the host shows of a change that may be about to be rolled back: whether it is gone afterwards says nothing without that. */
async function shownBefore(
  { store, product }: Caller["deps"],
  { operation, change_id, dry_run }: OperationInput,
): Promise<HostState | undefined> {
  if (operation === "apply" || dry_run || !product?.adapter) return undefined;
  const change = (await readRecord(store, change_id))?.change;
  return change?.status === "applied" ? askHost(product.adapter, change) : undefined;
}

/** A rehearsal uses up its `Idempotency-Key` too: the same key must not rehearse first and apply next. */
const rehearsed = async (caller: Caller, result: DryRunResult): Promise<DryRunResult | Replayed> =>
  caller.replies ? governed(caller, async () => result) : result;

/**
 * Records what the host answered, with more patience than a request has otherwise: the host has changed already. For the
 * same reason it is not told as "nothing was changed" when it cannot be written, or when nobody knows whether it was.
 */
async function keepResult(
  caller: Caller,
  lease: Lease,
  run: HostRun,
  rounds = ROUNDS,
): Promise<OperationResult | Replayed> {
  try {
    return await finish(caller, lease, run);
  } catch (error) {
    if (error instanceof StoreBusy && rounds > 1) return keepResult(caller, lease, run, rounds - 1);
    const isUnknown = error instanceof OutcomeUnknown;
    if (!(error instanceof StoreUnavailable || error instanceof StoreBusy || isUnknown)) throw error;
    const { change_id, operation } = lease;
    const what = isUnknown ? "may not have been written" : "could not be written";
    caller.deps.log.error(`the result of an operation ${what}`, { change_id, operation, error: String(error) });
    const asked = `the host product was asked to ${operation === "apply" ? "apply" : "roll back"} ${change_id}`;
    const left = isUnknown
      ? "the store did not say whether it kept the result; where the change does not show it,"
      : "the result could not be written;";
    throw new AppError(
      "store_unavailable",
      `${asked}, and ${left} the next request for the change, or a cycle, asks the host and settles it`,
      { change_id },
    );
  }
}

/** Commits what the host answered, under the lease's own number. */
async function finish(caller: Caller, lease: Lease, run: HostRun): Promise<OperationResult | Replayed> {
  const { change_id } = lease;
  const adapter = caller.deps.product!.adapter!;
  const decide = async (transaction: Transaction): Promise<OperationResult | AppError> => {
    const before = await transaction.change(change_id, "settling");
    if (!run.ok && isUnresolved(run.failure)) await keepUnsettled(transaction, lease, run.failure);
    else await endLease(transaction, lease);
    if (run.ok) {
      const result = { name: adapter.name, ...run.result };
      return { ...(await recordSuccess(transaction, before, lease, result)), adapter: shownOf(result) };
    }
    const { value: entry } = recordFailure(transaction, before, lease, run.failure).entry;
    const { stage, host, error, rejected: refused } = run.failure;
    if (refused) return rejected(adapter, error);
    const { status } = before.change;
    const audit_entry = { id: entry.id, current_hash: entry.current_hash };
    if (run.drift)
      return new AppError(
        "target_drifted",
        `the target of ${change_id} no longer holds what the change set; set it by hand and roll back again, or roll back with over_drift and a note to restore over what it holds`,
        { change_id, current_status: status, ...run.drift, audit_entry },
      );
    return new AppError(
      "adapter_failed",
      `the adapter ${adapter.name} failed in ${stage}; the change stays ${status} and the host shows ${host}; audit entry ${entry.id} has the cause`,
      {
        change_id,
        current_status: status,
        stage,
        host,
        audit_entry,
      },
    );
  };
  return governed(caller, decide, { anyClock: true });
}
