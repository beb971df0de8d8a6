/** Starts a restore: judges the request and takes the leases. */
import { HOUR_MS } from "../../kit/days.ts";
import { AppError } from "../../kit/errors.ts";
import { requireNamedActor } from "../service_action.ts";
import { type Caller, requireRevision } from "../caller.ts";
import { findLastFreeze } from "../freeze.ts";
import { describeMove, findCarrier, findMove } from "../locations.ts";
import { resolveActor, verifyPresentedProof, type ProofInput } from "../proof_input.ts";
import { filterProvenConsents } from "../proven_consents.ts";
import type { RestoreLease, SignedRequest } from "../records.ts";
import { type Actor, POLICY_DRIFT, serviceActor } from "../rules/actor.ts";
import type { Change } from "../rules/change.ts";
import { parseDetail } from "../rules/event.ts";
import { listFreezeHolds, requireNoHold } from "../rules/hold.ts";
import { isPlan } from "../rules/list_entries.ts";
import { IntentInvalid, type Intent, loadIntent } from "../rules/intent.ts";
import { listMissingConsents } from "../rules/missing_consents.ts";
import { toChangeId } from "../rules/operands.ts";
import { type ChangeRecord, listAppliedOperands } from "../rules/record.ts";
import { requireSignature } from "../rules/require_signature.ts";
import { listAllowedActions } from "../rules/transitions.ts";
import type { Transaction } from "../transaction.ts";
import type { LocationCheck } from "../verify_location.ts";
import {
  createLeaseError,
  listOtherLeases,
  readLease,
  selectOtherLease,
  takeLease,
  createTargetInUseError,
} from "./lease.ts";

/** Maximum number of restores of one target within an hour: beyond it, another program keeps overwriting the value. */
const MAX_RESTORES_PER_HOUR = 3;

/** The change, the actor and the reason of a restore. */
export interface RestoreInput extends ProofInput {
  change_id: string;
  /** The only operand to restore; absent: each operand whose target does not hold its value. */
  operand_id?: string | undefined;
  actor?: string | undefined;
  note?: string | undefined;
}

/** A restore for the adapter to run, each operand under a lease. */
export interface StartedRestore {
  leases: readonly RestoreLease[];
  operands: readonly Change[];
}

/** States of the locations of operands, by operand id. */
export type LocationStates = ReadonlyMap<string, LocationCheck>;

/**
 * Judges a restore and takes its leases. Returns the error 409 `restore_contested` after storing the contest in the drift
 * episode, which a thrown error would undo.
 */
export async function startRestore(
  transaction: Transaction,
  caller: Caller,
  input: RestoreInput,
  states: LocationStates,
): Promise<StartedRestore | AppError> {
  const { tx, product } = transaction;
  const { change_id, note } = input;
  const record = await transaction.change(change_id);
  const { change } = record;
  const edited = await listRestorable(transaction, record, states, input.operand_id);
  const { signed, ...actor } = await identifyActor(transaction, caller, change, input);
  await requireConsentAtApply(transaction, record);
  const ownLease = await readLease(tx, change);
  if (ownLease) throw createLeaseError(ownLease);
  const other = selectOtherLease(change, await listOtherLeases(tx, edited));
  if (other) throw createTargetInUseError(change_id, other);
  for (const operand of edited) {
    const moved = findMove(product.adapter, operand, await transaction.ledger.respell(operand));
    if (!moved) continue;
    const message = `${describeMove(moved)}; set the configuration as it was`;
    throw new AppError("target_moved", message, { change_id, places: moved });
  }
  requireNoHold(listFreezeHolds(await findLastFreeze(transaction), transaction.now));
  const operands: Change[] = [];
  let contestedUntil: string | undefined;
  for (const operand of edited) {
    const until = await storeContest(transaction, operand);
    if (until === undefined) operands.push(operand);
    else if (contestedUntil === undefined || until < contestedUntil) contestedUntil = until;
  }
  if (operands.length === 0) {
    const message = `the value of ${change_id} was restored three times within an hour, and changed each time; stop the other program, or roll back`;
    return new AppError("restore_contested", message, { change_id, contested_until: contestedUntil });
  }
  requireRevision(caller, change.revision);
  const { owner, ids } = caller.deps;
  const leases = operands.map((operand) => {
    const restore_id = ids.uuid(transaction.now);
    return takeLease(transaction, operand, { operation: "restore", ...actor, note, signed, restore_id, owner });
  });
  return { leases, operands };
}

/**
 * Lists the operands to restore: those whose target holds another value, or if there are none, those whose location cannot be read.
 * Errors: 400 `illegal_transition`.
 */
async function listRestorable(
  transaction: Transaction,
  record: ChangeRecord,
  states: LocationStates,
  operandId: string | undefined,
): Promise<Change[]> {
  const { change } = record;
  const { intent } = transaction.product;
  if (change.status !== "applied")
    throw createRestoreRejection(
      change,
      intent,
      `it is ${change.status}, and only what is applied has a value to restore`,
    );
  if (change.erased) throw createRestoreRejection(change, intent, "its content was erased");
  const requested = listAppliedOperands(record).filter(
    ({ change_id }) => operandId === undefined || change_id === operandId,
  );
  const restorable: Change[] = [];
  const problems: string[] = [];
  for (const operand of requested) {
    const problem = await findRestoreProblem(transaction, operand);
    const state = states.get(operand.change_id);
    if (problem !== undefined) problems.push(isPlan(change) ? `${operand.target}: ${problem}` : problem);
    // An object without `state`: the location holds the value.
    else if (typeof state !== "object" || state.state !== undefined) restorable.push(operand);
  }
  const edited = restorable.filter(({ change_id }) => typeof states.get(change_id) === "object");
  if (edited.length > 0) return edited;
  if (restorable.length > 0) return restorable;
  const [problem] = problems;
  if (problem === undefined) throw createUnchangedError(change, intent);
  const isPartial = problems.length < requested.length;
  throw createRestoreRejection(change, intent, isPartial ? `${problem}; its other targets hold their values` : problem);
}

/** Explains why the value of an operand cannot be restored; undefined if it can. */
async function findRestoreProblem({ ledger, product }: Transaction, operand: Change): Promise<string | undefined> {
  if (operand.value === undefined) return "it sets no value";
  const owner = await ledger.owner(operand);
  if (owner !== toChangeId(operand.change_id)) return `its target belongs to ${owner ?? "no change"} now`;
  const adapter = findCarrier(product.adapter, operand);
  if (!adapter) return "it was only recorded, and set on no target system";
  // A moved location is rejected later, with 409 `target_moved`.
  return findMove(adapter, operand) || adapter.canRestore?.(operand)
    ? undefined
    : "its target system cannot set a value by compare-and-set; roll it back, or propose the value again";
}

/** Stores in the episode of drift until when an operand is contested; returns that time, undefined if it is not contested. */
async function storeContest(transaction: Transaction, operand: Change): Promise<string | undefined> {
  const { tx } = transaction;
  const contested_until = await findContest(transaction, operand);
  if (contested_until === undefined) return undefined;
  const episode = (await tx.get("drift", operand.change_id))?.value;
  if (episode) tx.put("drift", operand.change_id, { ...episode, contested_until });
  return contested_until;
}

const createRestoreRejection = (change: Change, intent: Intent, reason: string): AppError =>
  new AppError("illegal_transition", `cannot restore the value of ${change.change_id}: ${reason}`, {
    change_id: change.change_id,
    current_status: change.status,
    allowed: listAllowedActions(change, intent),
  });

/** Creates the error for a target that holds its value already: 400 `illegal_transition`. */
export const createUnchangedError = (change: Change, intent: Intent): AppError =>
  createRestoreRejection(change, intent, "its target holds it");

/** Identifies the actor: the caller with the signature, or the service itself in its cycle. */
async function identifyActor(
  transaction: Transaction,
  caller: Caller,
  change: Change,
  input: RestoreInput,
): Promise<Actor & { signed?: SignedRequest }> {
  if (!caller.identity) return serviceActor(POLICY_DRIFT);
  const { note = "", proof, at } = input;
  const claimed = requireNamedActor(caller, "restore", input.actor);
  const { change_id, digest } = change;
  const statementFacts = { decision: "restore", change_id, digest, approver: claimed.actor, note } as const;
  const signature = await verifyPresentedProof(transaction, statementFacts, { proof, at });
  const actor = resolveActor(claimed.actor, signature, claimed);
  const { intent, manifest_hash } = transaction.product;
  const facts = requireSignature({ type: "restore", name: claimed.actor, signature }, intent.policy, actor);
  return signature ? { ...actor, signed: { manifest_hash, facts } } : actor;
}

/**
 * Requires that a change had its consents when it was applied, under the intent of that time. Errors: 403 `consent_incomplete`.
 */
async function requireConsentAtApply(transaction: Transaction, record: ChangeRecord): Promise<void> {
  const { change, applied } = record;
  const { change_id } = change;
  const entry = await transaction.evidence.storedEntry(applied?.entry);
  const { manifest_hash } = parseDetail(entry?.detail ?? "");
  const intent = await readIntent(transaction, manifest_hash);
  const createError = (reason: string, details: object): AppError =>
    new AppError("consent_incomplete", `${change_id} is not restored: ${reason}`, { change_id, ...details });
  if (!intent) throw createError("the intent under which it was applied is not stored", {});
  const product = { ...transaction.product, intent };
  const atApply = { ...transaction, product, ...(applied && { at: applied.at, until: applied.entry }) };
  const missing = listMissingConsents(await filterProvenConsents(atApply, record), intent);
  if (missing.length === 0) return;
  const missingTexts = missing.map(({ rule, count }) => `${count} more for ${rule}`).join(", ");
  throw createError(`consents were missing when it was applied: ${missingTexts}`, { missing });
}

/** Reads a former intent; undefined if its text is missing or does not match the hash. */
async function readIntent(
  { tx, product, sha256 }: Transaction,
  manifestHash: string | undefined,
): Promise<Intent | undefined> {
  if (manifestHash === product.manifest_hash) return product.intent;
  const text = manifestHash && (await tx.get("manifests", manifestHash))?.value;
  if (!text || sha256(text) !== manifestHash) return undefined;
  try {
    return loadIntent(text, sha256).intent;
  } catch (error) {
    if (error instanceof IntentInvalid) return undefined;
    throw error;
  }
}

/** Finds until when a target is contested (RFC 3339), because it was restored three times within the last hour. */
async function findContest({ evidence, at }: Transaction, change: Change): Promise<string | undefined> {
  const since = new Date(Date.parse(at) - HOUR_MS).toISOString();
  const next = evidence.walkRestoresSince(change, since);
  let restored = 0;
  for (let entry = await next(); entry && entry.timestamp > since; entry = await next())
    if (++restored === MAX_RESTORES_PER_HOUR) return new Date(Date.parse(entry.timestamp) + HOUR_MS).toISOString();
  return undefined;
}
