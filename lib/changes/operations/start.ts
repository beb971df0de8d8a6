/** Starts an operation: judges the request and takes the lease. */
import { AppError } from "../../kit/errors.ts";
import { type Caller, requirePerson } from "../caller.ts";
import { expireIfDue } from "../expire_changes.ts";
import { requireUnchanged } from "../gate/require_unchanged.ts";
import { requireRecordedTrip } from "../guardrail.ts";
import { filterProvenConsents } from "../proven_consents.ts";
import { describeMove, findCarrier, findMoves } from "../locations.ts";
import type { ProofInput } from "../proof_input.ts";
import { type Lease, type OperationLease, type OperationRequest, readRecord } from "../records.ts";
import type { Actor } from "../rules/actor.ts";
import type { Change } from "../rules/change.ts";
import { findTargetFacts } from "../rules/event.ts";
import { requiresUnchangedValues, type ObservedValue } from "../rules/moved_value.ts";
import { toChangeId, listOperands } from "../rules/operands.ts";
import { findOverdueStep, requireInTime } from "../rules/overdue.ts";
import { type ChangeRecord, listAppliedOperands } from "../rules/record.ts";
import { requireOperable, requireDryRunnable } from "../rules/state_machine.ts";
import type { CommandResult, Transaction } from "../transaction.ts";
import type { HostState } from "./adapter_port.ts";
import { authorizeOperation } from "./authorize.ts";
import type { DryRun } from "./dry_run.ts";
import { type TargetReadings, judgeApply } from "./judge_apply.ts";
import {
  explainStranded,
  findTakenLease,
  createInProgressError,
  isSameLease,
  createLeaseError,
  formatLeaseKey,
  readLeases,
  requireFreeTarget,
  takeLease,
} from "./lease.ts";
import { rejectDuringRollout, requireOrdered } from "../rollouts/reject_operation.ts";
import { recordSuccess } from "./record_result.ts";
import type { Resolution } from "./recover.ts";
import { isGone } from "./host_state.ts";

/** A request to run an operation. */
export interface OperationInput extends Omit<OperationRequest, keyof Actor | "signed">, ProofInput {
  change_id: string;
  /** The name that the caller states. */
  actor?: string | undefined;
  /** Checks the request and asks the adapter, but changes nothing. */
  dry_run?: boolean | undefined;
}

/** A completed operation; `adapter`: the adapter's result, null without an adapter. */
export interface OperationResult extends CommandResult {
  adapter: object | null;
}

/** An operation for the adapter to run on operands, each under a lease. */
export interface StartedOperation {
  leases: readonly OperationLease[];
  record: ChangeRecord;
  operands: readonly Change[];
  /** The only values that the apply may replace. */
  expected?: readonly ObservedValue[] | undefined;
}

/** Readings of the host before an operation starts. */
export interface HostReadings extends TargetReadings {
  /** The attempt to resolve an earlier operation on the change. */
  resolution?: Resolution | undefined;
  /** The host's state of each operand before a rollback, by its id. */
  statesBefore?: ReadonlyMap<string, HostState | undefined> | undefined;
}

/**
 * Judges an operation and takes its lease; without an adapter, records it immediately. Returns the error of a rejection that is
 * recorded. An earlier operation whose outcome is `unknown` may be repeated, and with `over_drift` also a `stranded` one.
 */
export async function startOperation(
  transaction: Transaction,
  caller: Caller,
  input: OperationInput,
  { resolution, statesBefore, observed, readings }: HostReadings,
): Promise<OperationResult | StartedOperation | DryRun | AppError> {
  const { operation, change_id, note, evidence, dry_run } = input;
  const { tx, product, now } = transaction;
  const { record, isStale, repairedFields } = await readVerified(transaction, input);
  const { change } = record;
  const leases = await readLeases(tx, change);
  const [lease] = leases;
  // An attempt to resolve other leases says nothing about the current ones.
  const isSameAttempt = lease && resolution && leases.every((current) => isAmong(resolution.leases, current));
  const outcome = isSameAttempt ? resolution.outcome : undefined;
  // The earlier operation may still take effect, or the host does not answer.
  const isUncertain = outcome === "open" || outcome === "silent";
  const isRepeatable = outcome !== undefined && !isUncertain && (outcome !== "stranded" || input.over_drift === true);
  // A dry run resolves nothing and expires nothing.
  if (lease && dry_run) throw createInProgressError(change_id);
  if (lease && outcome !== undefined && !isRepeatable) {
    const reasons = leases.map((current) => explainStranded(product.adapter, change, current));
    throw createLeaseError(
      lease,
      reasons.find((reason) => reason),
    );
  }
  const expired = await expireIfDue(transaction, caller.deps, record);
  if (expired && dry_run) throw expired;
  if (expired) return expired;
  if (operation === "apply") {
    // Under an unresolved lease a change does not expire, but an overdue approval allows no new attempt.
    if (lease && findOverdueStep(change, product.intent.policy, now)) throw createLeaseError(lease);
    requireInTime(change, { intent: product.intent, now });
  }
  const proven = operation === "apply" ? await filterProvenConsents(transaction, record) : change;
  const requirePossible = dry_run ? requireDryRunnable : requireOperable;
  requirePossible(proven, operation, product.intent);
  requirePerson(caller, "actor", input.actor);
  const over_drift = input.over_drift || undefined;
  const actor = await authorizeOperation(transaction, caller, change, { ...input, over_drift });
  // Without an attempt to resolve it, the lease may be in use.
  if (lease && !isRepeatable) throw createInProgressError(change_id);
  const operands = operation === "apply" ? listOperands(change) : listAppliedOperands(record);
  if (!dry_run) await requireFreeTarget(transaction, change, { operation, operands });
  requireOrdered(record, caller, input.actor);
  if (evidence) await requireRecordedTrip(transaction, change_id, evidence);
  const request: OperationRequest = { operation, ...actor, note, evidence, mended: repairedFields, over_drift };
  if (operation === "apply") {
    const judgedChange = { record, proven, isStale };
    const mode = dry_run ? "dry run" : "run";
    const rejection = await judgeApply(transaction, judgedChange, request, { observed, readings }, mode);
    if (rejection) return rejection;
  }
  await requireUnchanged(transaction, caller, record);
  if (operation === "rollback" && !dry_run) {
    await rejectDuringRollout(transaction, change, { operation, operands });
    if (over_drift) request.place_moved = findMoves(product.adapter, operands)?.now;
    else rejectMovedLocations(transaction, change, operands);
  }
  if (dry_run) {
    const changesInForce = await Promise.all(operands.map((operand) => transaction.ledger.owner(operand)));
    const skippedChanges = await Promise.all(operands.map((one) => findSkippedChange(transaction, record, one)));
    return { operation, record, operands, changesInForce, skippedChanges };
  }
  const carriedOperands = operands.filter((operand) => findCarrier(product.adapter, operand));
  if (carriedOperands.length === 0) {
    const done = operands.map((operand) => ({ operand, adapter: null }));
    return { ...(await recordSuccess(transaction, record, request, done)), adapter: null };
  }
  const { owner } = caller.deps;
  const taken: OperationLease[] = [];
  for (const operand of carriedOperands) {
    const mayBeGone = await allowsAbsence(transaction, operand, statesBefore?.get(operand.change_id));
    const earlierLease = leases.find(({ place }) => place === formatLeaseKey(operand));
    const facts = { ...request, owner, ...(mayBeGone && { mayBeGone }), ...findTakenLease(earlierLease) };
    taken.push(takeLease(transaction, operand, facts));
  }
  const expected = requiresUnchangedValues(change, product.intent) ? (observed ?? undefined) : undefined;
  return { leases: taken, record, operands: carriedOperands, expected };
}

const isAmong = (leases: readonly Lease[], lease: Lease): boolean =>
  leases.some((other) => other.place === lease.place && isSameLease(other, lease));

/** Rejects a rollback at another location than the apply's (409 `target_drifted`). */
function rejectMovedLocations({ product }: Transaction, change: Change, operands: readonly Change[]): void {
  const moved = findMoves(product.adapter, operands);
  if (!moved) return;
  const { change_id } = change;
  const message = `${describeMove(moved)}; set the configuration as it was, or roll back with over_drift and a note at the current location`;
  throw new AppError("target_drifted", message, { change_id, current_status: change.status, places: moved });
}

/** Finds the replaced change if it is no longer applied: a rollback then restores the value before the replaced change. */
async function findSkippedChange(
  { tx, evidence }: Transaction,
  { applied }: ChangeRecord,
  operand: Change,
): Promise<string | undefined> {
  const apply = await evidence.storedEntry(applied?.entry);
  const replacedId = apply && findTargetFacts(apply, operand)?.target_held;
  const replaced = typeof replacedId === "string" ? (await readRecord(tx, replacedId))?.change : undefined;
  return replaced && replaced.status !== "applied" ? replaced.change_id : undefined;
}

/**
 * Returns true if the host may show nothing of an operand after its rollback: it showed the operand before (`before`), or a later
 * change holds the target, so that nothing is restored.
 */
async function allowsAbsence(
  transaction: Transaction,
  operand: Change,
  before: HostState | undefined,
): Promise<true | undefined> {
  if (operand.status !== "applied") return undefined;
  const wasPresent = before !== undefined && !isGone(before);
  return wasPresent || (await transaction.ledger.owner(operand)) !== toChangeId(operand.change_id) || undefined;
}

/**
 * Reads a change and verifies it against the log. If only the content differs, the change is stale, and its apply is rejected with
 * an entry. A rollback uses the record rebuilt from the log; `repairedFields` are the fields that differed.
 */
async function readVerified(transaction: Transaction, { operation, change_id }: OperationInput) {
  const { record, fields } = await transaction.ledger.change(change_id);
  if (fields.length === 0) return { record, isStale: false };
  if (operation === "rollback")
    return { record: await transaction.change(change_id, "undoing"), isStale: false, repairedFields: fields };
  if (fields.join() !== "content") throw transaction.createMismatchError(change_id, fields);
  return { record, isStale: true };
}
