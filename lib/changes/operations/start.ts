/** Judges an operation and takes its lease. */
import { AppError } from "../../kit/errors.ts";
import { type Caller, requirePerson } from "../caller.ts";
import { expireIfDue } from "../expiry.ts";
import { requireUnmoved } from "../gate/require_unmoved.ts";
import { requireRecordedTrip } from "../guardrail.ts";
import { asProven } from "../proven_consents.ts";
import { describeMove, findCarrier, findMove } from "../places.ts";
import type { ProofInput } from "../proof_input.ts";
import { type OperationLease, type OperationRequest, readRecord } from "../records.ts";
import type { Actor } from "../rules/actor.ts";
import type { Change } from "../rules/change.ts";
import { mustBeAsSeen } from "../rules/moved_value.ts";
import { overdueStep, refuseOverdue } from "../rules/overdue.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { requireOperable, requireRehearsable } from "../rules/state_machine.ts";
import type { Enacted, Transaction } from "../transaction.ts";
import type { HostState } from "./adapter_port.ts";
import { authorizeOperation } from "./authorize.ts";
import type { DryRun } from "./dry_run.ts";
import { type ApplyAnswers, judgeApply } from "./judge_apply.ts";
import {
  describeStranded,
  findTakenLease,
  inProgressError,
  isSameLease,
  leaseError,
  readLease,
  requireFreeTarget,
  takeLease,
} from "./lease.ts";
import { refuseRunningRollout, requireOrdered } from "../rollouts/guards.ts";
import { recordSuccess } from "./record_result.ts";
import type { Resolution } from "./recover.ts";
import { isGone } from "./run_adapter.ts";

/** A request to run an operation. */
export interface OperationInput extends Omit<OperationRequest, keyof Actor | "signed">, ProofInput {
  change_id: string;
  /** The name that the caller states. */
  actor?: string | undefined;
  /** Checks and asks the adapter, and changes nothing. */
  dry_run?: boolean | undefined;
}

/** An operation that is done; `adapter`: its result, null without an adapter. */
export interface OperationResult extends Enacted {
  adapter: object | null;
}

/** An operation that the adapter is to run under a lease. */
export interface Started {
  lease: OperationLease;
  record: ChangeRecord;
  /** The digests of the only values that the apply may replace. */
  expected?: readonly string[] | undefined;
}

/** The host's answers before an operation starts. */
export interface HostAnswers extends ApplyAnswers {
  /** The attempt to resolve an operation that was left on the change. */
  left?: Resolution | undefined;
  /** The host's state before a rollback. */
  before?: HostState | undefined;
}

/**
 * Judges an operation and takes its lease; without an adapter records it immediately. A rejection that is recorded is
 * returned. An operation that the host shows neither done nor undone may be repeated.
 */
export async function startOperation(
  transaction: Transaction,
  caller: Caller,
  input: OperationInput,
  { left, before, seen, readings }: HostAnswers,
): Promise<OperationResult | Started | DryRun | AppError> {
  const { operation, change_id, note, evidence, dry_run } = input;
  const { tx, product, now } = transaction;
  const { record, isStale, mended } = await readVerified(transaction, input);
  const { change } = record;
  const lease = await readLease(tx, change);
  const stranded = lease && describeStranded(product.adapter, change, lease);
  const outcome = lease && left && isSameLease(left.lease, lease) ? left.outcome : undefined;
  const isSilent = outcome === "open" || outcome === "silent";
  const isRepeated = outcome !== undefined && (!isSilent || (stranded !== undefined && input.over_drift === true));
  // A dry run resolves nothing and expires nothing.
  if (lease && dry_run) throw inProgressError(change_id);
  if (lease && outcome !== undefined && !isRepeated) throw leaseError(lease, stranded);
  const expired = await expireIfDue(transaction, caller.deps, record);
  if (expired && dry_run) throw expired;
  if (expired) return expired;
  if (operation === "apply") {
    // While the host is silent nothing expires, but an expired approval allows no new try.
    if (lease && overdueStep(change, product.intent.policy, now)) throw leaseError(lease);
    refuseOverdue(change, { intent: product.intent, now });
  }
  const proven = operation === "apply" ? await asProven(transaction, record) : change;
  (dry_run ? requireRehearsable : requireOperable)(proven, operation, product.intent);
  requirePerson(caller, "actor", input.actor);
  const over_drift = input.over_drift || undefined;
  const actor = await authorizeOperation(transaction, caller, change, { ...input, over_drift });
  if (lease && !isRepeated) throw inProgressError(change_id);
  if (!dry_run) await requireFreeTarget(transaction, change, operation);
  requireOrdered(record, caller, input.actor);
  if (evidence) await requireRecordedTrip(transaction, change_id, evidence);
  const request: OperationRequest = { operation, ...actor, note, evidence, mended, over_drift };
  if (operation === "apply") {
    const judged = { record, proven, isStale };
    const mode = dry_run ? "dry run" : "run";
    const stale = await judgeApply(transaction, judged, request, { seen, readings }, mode);
    if (stale) return stale;
  }
  await requireUnmoved(transaction, caller, record);
  if (operation === "rollback" && !dry_run) {
    await refuseRunningRollout(transaction, change, operation);
    if (over_drift) request.place_moved = findMove(product.adapter, change)?.now;
    else refuseDriftedPlaces(transaction, change);
  }
  if (dry_run) {
    const owner = await transaction.ledger.owner(change);
    return { operation, record, owner, passes: await findPassed(transaction, record) };
  }
  if (!findCarrier(product.adapter, change))
    return { ...(await recordSuccess(transaction, record, request, null)), adapter: null };
  const { owner } = caller.deps;
  const mayBeGone = await allowsAbsence(transaction, change, before);
  const taken = takeLease(transaction, change, {
    ...request,
    owner,
    ...(mayBeGone && { mayBeGone }),
    ...findTakenLease(lease),
  });
  const expected = mustBeAsSeen(change, product.intent) ? seen?.map(({ digest }) => digest) : undefined;
  return { lease: taken, record, expected };
}

/** Rejects a rollback at another place than the change was applied at (409 `target_drifted`). */
function refuseDriftedPlaces({ product }: Transaction, change: Change): void {
  const moved = findMove(product.adapter, change);
  if (!moved) return;
  const { change_id } = change;
  const message = `${describeMove(moved)}; set the configuration as it was, or roll back with over_drift and a note at the place of today`;
  throw new AppError("target_drifted", message, { change_id, current_status: change.status, places: moved });
}

/** Finds the change that this one replaced and that is no longer applied: a rollback restores the value before it. */
async function findPassed({ tx }: Transaction, { target_owner }: ChangeRecord): Promise<string | undefined> {
  const replaced = typeof target_owner === "string" && (await readRecord(tx, target_owner))?.change;
  return replaced && replaced.status !== "applied" ? replaced.change_id : undefined;
}

/** Returns true where the host need not show anything of a change after its rollback; `before`: its state before that. */
async function allowsAbsence(
  transaction: Transaction,
  change: Change,
  before: HostState | undefined,
): Promise<true | undefined> {
  if (change.status !== "applied") return undefined;
  const wasShown = before !== undefined && !isGone(before);
  return wasShown || (await transaction.ledger.owner(change)) !== change.change_id || undefined;
}

/**
 * Reads the record of a change by the log. A record with other content is `isStale`: its apply is rejected on record. A
 * rollback goes by the log whatever was stored; `mended`: the fields that it repairs.
 */
async function readVerified(transaction: Transaction, { operation, change_id }: OperationInput) {
  const { record, fields } = await transaction.ledger.change(change_id);
  if (fields.length === 0) return { record, isStale: false };
  if (operation === "rollback")
    return { record: await transaction.change(change_id, "undoing"), isStale: false, mended: fields };
  if (fields.join() !== "content") throw transaction.mismatched(change_id, fields);
  return { record, isStale: true };
}
