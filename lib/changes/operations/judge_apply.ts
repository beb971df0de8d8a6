/** Judges an apply that has its consents: earlier failures, values, promotions, locations, other changes, and holds. */
import { AppError } from "../../kit/errors.ts";
import { findLastFreeze } from "../freeze.ts";
import { judgeValues, readRecordedBases, type SystemReading, type ValueJudgement } from "../judge_values.ts";
import { requireInsideMandate } from "../mandates/check_apply.ts";
import { describeMove, findMove, requireFreeLocations, claimLocations } from "../locations.ts";
import { listPromotionHolds } from "../promotion.ts";
import { filterProvenConsents } from "../proven_consents.ts";
import type { OperationRequest } from "../records.ts";
import { rejectDuringRollout } from "../rollouts/reject_operation.ts";
import { isEmergencyApproved } from "../rules/break_glass.ts";
import type { Change } from "../rules/change.ts";
import { listHolds, requireNoHold } from "../rules/hold.ts";
import type { Intent } from "../rules/intent.ts";
import {
  describeMovedValues,
  findMovedValues,
  type MovedValues,
  requiresUnchangedValues,
  type ObservedValue,
} from "../rules/moved_value.ts";
import { listOperands } from "../rules/operands.ts";
import { requireInTime } from "../rules/overdue.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { requireUnmovedTarget, describeMovedTarget } from "../rules/stale_target.ts";
import { listActionsWithoutApply, requireOperable } from "../rules/state_machine.ts";
import type { Transaction } from "../transaction.ts";
import { requireFreeTarget, requireNoOperation } from "./lease.ts";
import { recordFailure } from "./record_result.ts";

const MAX_FAILED_APPLIES = 1000;

/** Readings of the target systems before an apply. */
export interface TargetReadings {
  /** Values of targets with limited steps whose value the log does not show. */
  readings?: readonly SystemReading[] | undefined;
  /** Current values at the locations of the change; `null` if they cannot be read now. */
  observed?: readonly ObservedValue[] | null | undefined;
}

/** A change whose apply is judged. `proven`: with only the consents that count; `isStale`: its content is not what was approved. */
export interface JudgedChange {
  record: ChangeRecord;
  proven: Change;
  isStale: boolean;
}

/**
 * Judges an apply that has its consents, and adds to `request` what its entry will say about it. Returns the error of a rejection
 * that is recorded, and throws other errors. A `question` is judged like a run, but claims and records nothing.
 */
export async function judgeApply(
  transaction: Transaction,
  { record, proven, isStale }: JudgedChange,
  request: OperationRequest,
  { observed, readings }: TargetReadings,
  mode: "run" | "dry run" | "question",
): Promise<AppError | undefined> {
  const { change } = record;
  const isDry = mode === "dry run";
  if (mode === "run") await claimLocations(transaction.tx, change, transaction.sha256);
  if (mode === "question") await requireFreeLocations(transaction.tx, change.places, transaction.sha256);
  await rejectRepeatedFailures(transaction, record);
  if (isStale) return rejectStale(transaction, record, request, isDry);
  request.step_base = await requireAllowedValues(transaction, record, readings);
  // A dry run changes nothing, so mandates, promotions, windows, freezes and moved values do not matter to it.
  if (isDry) return undefined;
  const recorded = await readRecordedBases(transaction.ledger, record);
  const mandateBases = await requireInsideMandate(transaction, proven, { readings, recorded });
  if (mandateBases) request.step_base = [...(request.step_base ?? []), ...mandateBases];
  if (!isEmergencyApproved(proven, transaction.product.intent))
    requireNoHold(await listPromotionHolds(transaction, change));
  await rejectMovedLocations(transaction, change);
  rejectMovedValues(transaction, proven, observed, request);
  await rejectBlockedApply(transaction, record, proven, request);
  return undefined;
}

/**
 * Requires that an apply would be accepted now, apart from the caller's rights and the target system, which are not checked.
 * Writes nothing. Errors: those of an apply.
 */
export async function requireApplicable(transaction: Transaction, record: ChangeRecord): Promise<void> {
  const { tx, product, now } = transaction;
  const { change } = record;
  requireInTime(change, { intent: product.intent, now });
  const proven = await filterProvenConsents(transaction, record);
  requireOperable(proven, "apply", product.intent);
  await requireNoOperation(tx, change);
  await requireFreeTarget(transaction, change, { operation: "apply", operands: listOperands(change) });
  await judgeApply(
    transaction,
    { record, proven, isStale: false },
    { operation: "apply" } as OperationRequest,
    {},
    "question",
  );
}

/**
 * Judges the values of a change again in the transaction that takes the lease, so that no other apply on its targets can come in
 * between. Returns the numbers that targets hold without any applied change. Errors: 400 `value_not_allowed`.
 */
async function requireAllowedValues(
  { ledger, product, at }: Transaction,
  record: ChangeRecord,
  readings: TargetReadings["readings"],
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
    allowed: listActionsWithoutApply(change, product.intent),
  });
}

/** Rejects an apply at another location than the consented one (409 `target_moved`). */
async function rejectMovedLocations({ ledger, product }: Transaction, change: Change): Promise<void> {
  const moved = findMove(product.adapter, change, product.adapter?.locate && (await ledger.respell(change)));
  if (!moved) return;
  const { change_id } = change;
  const details = { change_id, places: moved, allowed: listActionsWithoutApply(change, product.intent) };
  throw new AppError("target_moved", `${describeMove(moved)}; revoke ${change_id}, and propose it again`, details);
}

/** Rejects an apply over a value that no approver saw, or adds the value to the request, as `on_moved` of the intent says. */
function rejectMovedValues(
  { product }: Transaction,
  change: Change,
  observed: TargetReadings["observed"],
  request: OperationRequest,
): void {
  const { change_id } = change;
  if (observed === null && requiresUnchangedValues(change, product.intent))
    throw new AppError(
      "adapter_failed",
      `the target of ${change_id} cannot be read now, so nobody can say whether it holds what the consent saw; try again later`,
      { change_id, stage: "validate" },
    );
  const movedValues = observed && findMovedValues(change, product.intent, observed);
  if (!movedValues) return;
  const { moved, blocks } = movedValues;
  if (blocks) throw createMovedValueError(change, product.intent, { seen: observed!, moved });
  request.value_moved = moved;
}

/** Creates the error of an apply over a value that no approver saw: 409 `target_moved`. */
export const createMovedValueError = (
  change: Change,
  intent: Intent,
  { seen: observed, moved }: Pick<MovedValues, "moved"> & { seen: readonly ObservedValue[] },
  furtherDetails: object = {},
): AppError =>
  new AppError("target_moved", `${describeMovedValues({ moved })}; revoke ${change.change_id}, and propose it again`, {
    change_id: change.change_id,
    seen: observed,
    allowed: listActionsWithoutApply(change, intent),
    ...furtherDetails,
  });

/**
 * Rejects an apply that another change in force, a rollout, a window or a freeze blocks; adds to the request what did not block
 * it.
 */
async function rejectBlockedApply(
  transaction: Transaction,
  { target_owner }: ChangeRecord,
  change: Change,
  request: OperationRequest,
): Promise<void> {
  const { product, now } = transaction;
  const { policy } = product.intent;
  const inForce = { before: target_owner, now: await transaction.ledger.targetOwner(change) };
  const { change_id } = change;
  requireUnmovedTarget(inForce, policy, () => ({
    change_id,
    allowed: listActionsWithoutApply(change, product.intent),
  }));
  if (describeMovedTarget(inForce) !== undefined) request.target_moved = inForce;
  await rejectDuringRollout(transaction, change, { operation: "apply", operands: listOperands(change) });
  if (isEmergencyApproved(change, product.intent)) request.emergency = true;
  else requireNoHold(listHolds(policy, await findLastFreeze(transaction), now, change));
}

/**
 * Rejects an apply after too many failures (409 `too_many_attempts`): a program that retries forever would fill the log, and each
 * apply reads all entries of the change. A rollback is never rejected for this reason.
 */
async function rejectRepeatedFailures({ ledger, product }: Transaction, record: ChangeRecord): Promise<void> {
  const { change, audit } = record;
  if (audit.length < MAX_FAILED_APPLIES) return;
  const entries = await ledger.entries(change.change_id, record);
  const failed = entries.filter(({ event_type }) => event_type === "change_apply_failed").length;
  if (failed < MAX_FAILED_APPLIES) return;
  const { change_id } = change;
  throw new AppError(
    "too_many_attempts",
    `${failed} applies of ${change_id} failed; find out why it cannot be applied, revoke it, and propose it again`,
    { change_id, allowed: listActionsWithoutApply(change, product.intent) },
  );
}

/** Rejects the apply of content that was not approved. Since only tampering can cause this, the rejection is recorded. */
async function rejectStale(
  transaction: Transaction,
  record: ChangeRecord,
  request: OperationRequest,
  dryRun: boolean | undefined,
): Promise<AppError> {
  const { change_id } = record.change;
  const error = "the change's content is not what was approved";
  if (!dryRun) await recordFailure(transaction, record, request, { stage: "consent", error, host: "unknown" });
  const allowed = listActionsWithoutApply(record.change, transaction.product.intent);
  const message = `${change_id} is not what was approved; revoke it, and propose it again`;
  return new AppError("approval_stale", message, { change_id, allowed });
}
