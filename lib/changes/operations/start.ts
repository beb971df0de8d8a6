/** Judges an operation and takes its lease. */
import { AppError } from "../../kit/errors.ts";
import { type Caller, requirePerson } from "../caller.ts";
import { expireIfDue } from "../expiry.ts";
import { lastFreeze } from "../freeze.ts";
import { requireUnmoved } from "../gate/require_unmoved.ts";
import { requireRecordedTrip } from "../guardrail.ts";
import { asProven } from "../proven_consents.ts";
import { describeMove, findCarrier, findMove, requireFreePlaces, takePlaces } from "../places.ts";
import { listPromotionHolds } from "../promotion.ts";
import type { ProofInput } from "../proof_input.ts";
import { type OperationLease, type OperationRequest, readRecord } from "../records.ts";
import type { Actor } from "../rules/actor.ts";
import { isEmergency } from "../rules/break_glass.ts";
import type { Change } from "../rules/change.ts";
import type { Operation } from "../rules/command.ts";
import type { Intent } from "../rules/intent.ts";
import { holdsAt, refuseHeld } from "../rules/hold.ts";
import {
  describeMovedValues,
  findMovedValues,
  type MovedValues,
  mustBeAsSeen,
  type Seen,
} from "../rules/moved_value.ts";
import { overdueStep, refuseOverdue } from "../rules/overdue.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { refuseMovedTarget, targetMoved } from "../rules/stale_target.ts";
import { allowedInstead, requireOperable, requireRehearsable } from "../rules/state_machine.ts";
import type { Reads } from "../../store/store.ts";
import type { Enacted, Transaction } from "../transaction.ts";
import type { HostState } from "./adapter_port.ts";
import { authorizeOperation } from "./authorize.ts";
import type { DryRun } from "./dry_run.ts";
import {
  describeStranded,
  findTakenLease,
  inProgressError,
  isSameLease,
  leaseError,
  listOtherLeases,
  readLease,
  selectOtherLease,
  takeLease,
  targetInUseError,
} from "./lease.ts";
import { refuseRunningRollout, requireOrdered } from "../rollouts/guards.ts";
import { judgeValues, readRecordedBases, type SystemReading, type ValueJudgement } from "../judge_values.ts";
import { recordFailure, recordSuccess } from "./record_result.ts";
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
export interface HostAnswers {
  /** The attempt to resolve an operation that was left on the change. */
  left?: Resolution | undefined;
  /** The host's state before a rollback. */
  before?: HostState | undefined;
  /** The value of the target before an apply, where its steps are limited and our record shows no value of it. */
  readings?: readonly SystemReading[] | undefined;
  /** The values of the places of a change before its apply; `null`: they cannot be read now. */
  seen?: readonly Seen[] | null | undefined;
}

const MAX_FAILED_APPLIES = 1000;

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

/** A change whose apply is judged; `proven`: with those consents alone that count. */
interface JudgedApply {
  record: ChangeRecord;
  proven: Change;
  isStale: boolean;
}

/**
 * Judges an apply that has its consents; a rejection that is recorded is returned. A `question` is judged as a run is, and takes
 * and records nothing.
 */
async function judgeApply(
  transaction: Transaction,
  { record, proven, isStale }: JudgedApply,
  request: OperationRequest,
  { seen, readings }: HostAnswers,
  mode: "run" | "dry run" | "question",
): Promise<AppError | undefined> {
  const { change } = record;
  const isDry = mode === "dry run";
  if (mode === "run") await takePlaces(transaction.tx, change, transaction.sha256);
  if (mode === "question") await requireFreePlaces(transaction.tx, change.places, transaction.sha256);
  await refuseEndlessTries(transaction, record);
  if (isStale) return rejectStale(transaction, record, request, isDry);
  request.step_base = await requireAllowedValues(transaction, record, readings);
  // A dry run touches nothing, so nothing holds it back.
  if (isDry) return undefined;
  if (!isEmergency(proven, transaction.product.intent)) refuseHeld(await listPromotionHolds(transaction, change));
  await refuseMovedPlaces(transaction, change);
  refuseMovedValues(transaction, proven, seen, request);
  await refuseHeldBack(transaction, record, proven, request);
  return undefined;
}

/**
 * Requires that an apply would be rejected by nobody but its caller's rights and the target system, which is not asked. Writes
 * nothing. Errors: as of an apply.
 */
export async function requireApplicable(transaction: Transaction, record: ChangeRecord): Promise<void> {
  const { tx, product, now } = transaction;
  const { change } = record;
  refuseOverdue(change, { intent: product.intent, now });
  const proven = await asProven(transaction, record);
  requireOperable(proven, "apply", product.intent);
  await requireNoOperation(tx, change);
  await requireFreeTarget(transaction, change, "apply");
  await judgeApply(
    transaction,
    { record, proven, isStale: false },
    { operation: "apply" } as OperationRequest,
    {},
    "question",
  );
}

/** Requires that no operation on a change is under way or unresolved (409 `operation_in_progress`). */
export async function requireNoOperation(reads: Pick<Reads, "get">, change: Change): Promise<void> {
  const lease = await readLease(reads, change);
  if (lease) throw leaseError(lease);
}

/**
 * Requires that no other change of the target is being worked on. A rollback may pass an operation that no process runs any
 * more: nothing delays it for long.
 */
async function requireFreeTarget({ tx }: Transaction, change: Change, operation: Operation): Promise<void> {
  const other = selectOtherLease(change, await listOtherLeases(tx, change));
  if (other && !(operation === "rollback" && other.state !== "running"))
    throw targetInUseError(change.change_id, other);
}

/**
 * Judges the values of a change again, under the lease-taking transaction, so that no other apply on its target comes between.
 * Returns the numbers that the target holds which no change of ours has set. Errors: 400 `value_not_allowed`.
 */
async function requireAllowedValues(
  { ledger, product, at }: Transaction,
  record: ChangeRecord,
  readings: HostAnswers["readings"],
): Promise<ValueJudgement["step_base"]> {
  const { change } = record;
  const { policy } = product.intent;
  if (policy.targets.length === 0) return undefined;
  const recorded = await readRecordedBases(ledger, record);
  const { error, step_base } = await judgeValues(ledger, change, { policy, at, readings, recorded });
  if (!error) return step_base;
  const { change_id } = change;
  throw new AppError(error.code, `${error.message}; revoke ${change_id}, and propose it again`, {
    change_id,
    ...error.details,
    allowed: allowedInstead(change, product.intent),
  });
}

/** Rejects an apply that would set a value elsewhere than it was consented to (409 `target_moved`). */
async function refuseMovedPlaces({ ledger, product }: Transaction, change: Change): Promise<void> {
  const moved = findMove(product.adapter, change, product.adapter?.locate && (await ledger.spelling(change)));
  if (!moved) return;
  const { change_id } = change;
  const details = { change_id, places: moved, allowed: allowedInstead(change, product.intent) };
  throw new AppError("target_moved", `${describeMove(moved)}; revoke ${change_id}, and propose it again`, details);
}

/** Rejects an apply over a value that no consent saw, or notes it for the entry, as the intent says. */
function refuseMovedValues(
  { product }: Transaction,
  change: Change,
  seen: HostAnswers["seen"],
  request: OperationRequest,
): void {
  const { change_id } = change;
  if (seen === null && mustBeAsSeen(change, product.intent))
    throw new AppError(
      "adapter_failed",
      `the target of ${change_id} cannot be read now, so nobody can say whether it holds what the consent saw; try again later`,
      { change_id, stage: "validate" },
    );
  const found = seen && findMovedValues(change, product.intent, seen);
  if (!found) return;
  if (!found.blocks) {
    request.value_moved = found.moved;
    return;
  }
  throw createMovedError(change, product.intent, { seen: seen!, moved: found.moved });
}

/** Creates the error of an apply over a value that no consent saw: 409 `target_moved`. */
export const createMovedError = (
  change: Change,
  intent: Intent,
  { seen, moved }: Pick<MovedValues, "moved"> & { seen: readonly Seen[] },
  more: object = {},
): AppError =>
  new AppError("target_moved", `${describeMovedValues({ moved })}; revoke ${change.change_id}, and propose it again`, {
    change_id: change.change_id,
    seen,
    allowed: allowedInstead(change, intent),
    ...more,
  });

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
  const replaced = target_owner && (await readRecord(tx, target_owner))?.change;
  return replaced && replaced.status !== "applied" ? replaced.change_id : undefined;
}

/** Rejects an apply that has its consents and is held back; the facts that it passes over are noted for its entry. */
async function refuseHeldBack(
  transaction: Transaction,
  { target_owner }: ChangeRecord,
  change: Change,
  request: OperationRequest,
): Promise<void> {
  const { product, now } = transaction;
  const { policy } = product.intent;
  const owners = { before: target_owner, now: await transaction.ledger.owner(change) };
  const { change_id } = change;
  refuseMovedTarget(owners, policy, () => ({ change_id, allowed: allowedInstead(change, product.intent) }));
  if (targetMoved(owners) !== undefined) request.target_moved = owners;
  await refuseRunningRollout(transaction, change, "apply");
  if (isEmergency(change, product.intent)) request.emergency = true;
  else refuseHeld(holdsAt(policy, await lastFreeze(transaction), now, change));
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
 * Rejects an apply after too many failures (409 `too_many_attempts`). Every failed apply is recorded, and each further one
 * reads the entries of all: a program that retries without end would fill the log. A rollback is never rejected for that.
 */
async function refuseEndlessTries({ ledger, product }: Transaction, record: ChangeRecord): Promise<void> {
  const { change, audit } = record;
  if (audit.length < MAX_FAILED_APPLIES) return;
  const entries = await ledger.entries(change.change_id, record);
  const failed = entries.filter(({ event_type }) => event_type === "change_apply_failed").length;
  if (failed < MAX_FAILED_APPLIES) return;
  const { change_id } = change;
  throw new AppError(
    "too_many_attempts",
    `${failed} applies of ${change_id} failed; find out why it cannot be applied, revoke it, and propose it again`,
    { change_id, allowed: allowedInstead(change, product.intent) },
  );
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

/** Rejects the apply of content that was not approved. Only tampering makes it so: it is recorded. */
function rejectStale(
  transaction: Transaction,
  record: ChangeRecord,
  request: OperationRequest,
  dryRun: boolean | undefined,
): AppError {
  const { change_id } = record.change;
  const error = "the change's content is not what was approved";
  if (!dryRun) recordFailure(transaction, record, request, { stage: "consent", error, host: "unknown" });
  const allowed = allowedInstead(record.change, transaction.product.intent);
  const message = `${change_id} is not what was approved; revoke it, and propose it again`;
  return new AppError("approval_stale", message, { change_id, allowed });
}
