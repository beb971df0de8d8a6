/** Whether an operation may be begun, and under which lease. */
import type { HostState } from "./adapter_port.ts";
import { AppError } from "../../kit/errors.ts";
import { findActor, type Caller, requirePerson, requireRevision } from "../caller.ts";
import { asProven } from "../proven_consents.ts";
import { expireIfDue } from "../expiry.ts";
import { lastFreeze } from "../freeze.ts";
import { requireTold } from "../guardrail.ts";
import { type Asked, type Lease, readRecord } from "../records.ts";
import type { Actor } from "../rules/actor.ts";
import type { Change } from "../rules/change.ts";
import { holdsAt, refuseHeld } from "../rules/hold.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { refuseMovedTarget, targetMoved } from "../rules/stale_target.ts";
import { isEmergency } from "../rules/break_glass.ts";
import { overdueStep, refuseOverdue } from "../rules/overdue.ts";
import { allowedInstead, requireOperable, requireRehearsable } from "../rules/state_machine.ts";
import { ownerTold } from "../target_told.ts";
import type { Enacted, Transaction } from "../transaction.ts";
import { inProgress, isAbandoned, isOver, leaseBeside, readLease, takeLease, targetInUse, unsettled } from "./lease.ts";
import type { Rehearsal } from "./rehearse.ts";
import { isGone } from "./run_adapter.ts";
import { recordFailure, recordSuccess } from "./record_result.ts";

/** What is asked of a change. */
export interface OperationInput extends Omit<Asked, keyof Actor> {
  change_id: string;
  /** The name that who asks gives itself. */
  actor?: string | undefined;
  /** Checks and asks the adapter, and changes nothing. */
  dry_run?: boolean | undefined;
}

/** An operation that is done; `adapter`: its result, null without an adapter. */
export interface OperationResult extends Enacted {
  adapter: object | null;
}

/** The next step, or the result of an operation that needs none. */
export type Begun =
  | OperationResult
  | { step: "run"; lease: Lease; record: ChangeRecord }
  | { step: "recover"; lease: Lease }
  /** Of another change on the same target: to be settled first. */
  | { step: "settle"; lease: Lease }
  | ({ step: "rehearse" } & Rehearsal);

const MAX_FAILED_APPLIES = 1000;

/**
 * Judges what is asked; takes the lease, or without an adapter does it at once. A refusal that is recorded is returned.
 * `repeats`: the lease of an operation that the host holds neither done nor undone, which may be tried again. `left`: one of
 * another change on the target that could not be settled. `before`: what the host showed before a rollback.
 */
export async function begin(
  transaction: Transaction,
  caller: Caller,
  input: OperationInput,
  {
    repeats,
    left,
    before,
  }: { repeats?: Lease | undefined; left?: Lease | undefined; before?: HostState | undefined } = {},
): Promise<Begun | AppError> {
  const { operation, change_id, note, evidence } = input;
  const { tx, product, now } = transaction;
  const { owner } = caller.deps;
  const { record, stale, mended } = await heldFor(transaction, input);
  const { change } = record;
  const lease = await readLease(tx, change);
  const repeated = lease !== undefined && lease.number === repeats?.number;
  // What only looks neither settles anything, nor ends a change whose time is over.
  if (lease && input.dry_run) throw inProgress(change_id);
  if (lease && !repeated && isAbandoned(lease, owner, now)) return { step: "recover", lease };
  const expired = await expireIfDue(transaction, caller.deps, record);
  if (expired && input.dry_run) throw expired;
  if (expired) return expired;
  // While the host is silent nothing lapses, but an apply is not tried anew under an approval that is over.
  if (operation === "apply" && lease && overdueStep(change, product.intent.policy, now))
    throw (repeated ? unsettled : inProgress)(change_id);
  if (operation === "apply") refuseOverdue(change, { intent: product.intent, now });
  const proven = operation === "apply" ? await asProven(transaction, record) : change;
  (input.dry_run ? requireRehearsable : requireOperable)(proven, operation, product.intent);
  requirePerson(caller, "actor", input.actor);
  if (lease && !repeated) throw inProgress(change_id);
  const beside = input.dry_run ? undefined : await leaseBeside(tx, change);
  const wasLeft = beside?.change_id === left?.change_id && beside?.number === left?.number;
  if (beside && !wasLeft && isOver(beside, now)) return { step: "settle", lease: beside };
  // Nothing holds a rollback back for long: one may pass an operation that nobody runs any more.
  if (beside && !(operation === "rollback" && beside.unsettled)) throw targetInUse(change_id, beside);
  if (evidence) await requireTold(transaction, change_id, evidence);
  const asked: Asked = {
    operation,
    ...findActor(caller, input.actor),
    note,
    evidence,
    mended,
    over_drift: input.over_drift || undefined,
  };
  if (operation === "apply") {
    await refuseEndlessTries(transaction, record);
    if (stale) return refuseStale(transaction, record, asked, input.dry_run);
    // A rehearsal touches nothing, so nothing holds it back.
    if (!input.dry_run) await refuseHeldBack(transaction, record, proven, asked);
  }
  requireRevision(caller, change.revision);
  if (input.dry_run) {
    const [owner, passes] = [await ownerTold(transaction, change), await passedBy(transaction, record)];
    return { step: "rehearse", operation, record, owner, passes };
  }
  if (!product.adapter) return { ...(await recordSuccess(transaction, record, asked, null)), adapter: null };
  return {
    step: "run",
    lease: takeLease(transaction, change, { ...asked, owner, ...(await goneAfter(transaction, change, before)) }),
    record,
  };
}

/** The change whose place this one took, where it is applied no more: a rollback brings back what was before it. */
async function passedBy({ tx }: Transaction, { target_owner }: ChangeRecord): Promise<string | undefined> {
  const before = target_owner && (await readRecord(tx, target_owner))?.change;
  return before && before.status !== "applied" ? before.change_id : undefined;
}

/** What holds back an apply that has its consents; what it goes on over is noted, for its entry. */
async function refuseHeldBack(
  transaction: Transaction,
  { target_owner }: ChangeRecord,
  change: Change,
  asked: Asked,
): Promise<void> {
  const { product, now } = transaction;
  const { policy } = product.intent;
  const owners = { before: target_owner, now: await ownerTold(transaction, change) };
  const { change_id } = change;
  refuseMovedTarget(owners, policy, () => ({ change_id, allowed: allowedInstead(change, product.intent) }));
  if (targetMoved(owners) !== undefined) asked.target_moved = owners;
  if (isEmergency(change, product.intent)) asked.emergency = true;
  else refuseHeld(holdsAt(policy, await lastFreeze(transaction), now));
}

/** Whether the host need not show anything of a change after its rollback; `before`: what it showed, if it could be asked. */
async function goneAfter(
  transaction: Transaction,
  change: Change,
  before: HostState | undefined,
): Promise<Pick<Lease, "mayBeGone">> {
  if (change.status !== "applied") return {};
  const wasShown = before !== undefined && !isGone(before);
  return wasShown || (await ownerTold(transaction, change)) !== change.change_id ? { mayBeGone: true } : {};
}

/**
 * 409 `too_many_attempts`. Every apply that fails is audited, and each further one reads the entries of all: a program that
 * retries without end would fill the log. A rollback is never refused for that.
 */
async function refuseEndlessTries({ evidence, product }: Transaction, { change, audit }: ChangeRecord): Promise<void> {
  if (audit.length < MAX_FAILED_APPLIES) return;
  const entries = await Promise.all(audit.map((id) => evidence.kept(id)));
  const failed = entries.filter((entry) => entry?.event_type === "change_apply_failed").length;
  if (failed < MAX_FAILED_APPLIES) return;
  const { change_id } = change;
  throw new AppError(
    "too_many_attempts",
    `${failed} applies of ${change_id} failed; find out why it cannot be applied, revoke it, and propose it again`,
    { change_id, allowed: allowedInstead(change, product.intent) },
  );
}

/**
 * The record as the log tells it. Of one that is `stale` the content alone is another: its apply is refused on record. A
 * rollback goes by the log whatever else was stored, which is `mended` so.
 */
async function heldFor(transaction: Transaction, { operation, change_id }: OperationInput) {
  const { record, fields } = await transaction.held(change_id);
  if (fields.length === 0) return { record, stale: false };
  if (operation === "rollback")
    return { record: await transaction.change(change_id, "undoing"), stale: false, mended: fields };
  if (fields.join() !== "content") throw transaction.mismatched(change_id, fields);
  return { record, stale: true };
}

/** The content is not the one that consent was given to: only tampering does that, so it is recorded. */
function refuseStale(
  transaction: Transaction,
  record: ChangeRecord,
  asked: Asked,
  dryRun: boolean | undefined,
): AppError {
  const { change_id } = record.change;
  const error = "the change's content is not what was approved";
  if (!dryRun) recordFailure(transaction, record, asked, { stage: "consent", error, host: "unknown" });
  const allowed = allowedInstead(record.change, transaction.product.intent);
  const message = `${change_id} is not what was approved; revoke it, and propose it again`;
  return new AppError("approval_stale", message, { change_id, allowed });
}
