/** Records the results of applies, rollbacks and restores. */
import { entryKey } from "../../audit/chain.ts";
import { canonicalJson } from "../../kit/canonical_json.ts";
import type { Sha256 } from "../../kit/platform.ts";
import type { AdapterResult, HostState, RestoreResult } from "./adapter_port.ts";
import { watchChange } from "../guardrail.ts";
import { suspendApproving } from "../mandates/suspend.ts";
import { findCarrier } from "../locations.ts";
import { readRecordedKpis } from "../recorded_kpis.ts";
import { json } from "../../store/json.ts";
import type { Tx } from "../../store/store.ts";
import { type OperationRequest, type RestoreRequest, formatTargetKey } from "../records.ts";
import { type Actor, isNamedByProxy, serviceActor } from "../rules/actor.ts";
import type { Change } from "../rules/change.ts";
import type { Operation } from "../rules/command.ts";
import { isPlan } from "../rules/list_entries.ts";
import { type ApplyRecord, type ChangeRecord, listAppliedOperands } from "../rules/record.ts";
import { type TargetKey, isSameTarget } from "../rules/target_key.ts";
import type { CommandResult, Transaction } from "../transaction.ts";
import { findSameFailure } from "./repeated_failure.ts";
import type { HostFailure } from "./run_adapter.ts";

/** Drift episodes that are read of one change: more than a plan has targets. */
const MAX_EPISODES = 50;
/** A transaction takes at most 99 writes, and a plan of 20 needs four for each target; other episodes end with the next check. */
const MAX_DROPPED_EPISODES = 10;

/** The result of an adapter, with its name. */
export type NamedResult = AdapterResult & { name: string };

/** Returns a result without the replaced value, of which only the digest is recorded. */
export const omitPrevious = ({ previous: _, ...result }: NamedResult): Omit<NamedResult, "previous"> => result;

/**
 * An operand (the change, or an entry of a plan) on which an operation is done; `adapter` is null for an operand that no target
 * system carries.
 */
export interface DoneOperand {
  operand: Change;
  adapter: NamedResult | null;
}

/**
 * Records that an operation is done: the status of the change and the changes in force on its targets. `resolution`: the host
 * reported the result after an interruption, or `late`, after a recorded failure.
 */
export async function recordSuccess(
  transaction: Transaction,
  before: ChangeRecord,
  request: OperationRequest,
  done: readonly DoneOperand[],
  resolution: { resolved_after_interruption?: true; late?: true } = {},
): Promise<RecordedSuccess> {
  const { operation } = request;
  const { rollout } = before;
  const facts = await Promise.all(done.map((operand) => readTargetFacts(transaction, before, operation, operand)));
  const sets = isPlan(before.change)
    ? done.map(({ operand }, index) => toPlanTarget(operand, facts[index]!))
    : undefined;
  const { target_spelling, adapter, target_held, ...otherFacts } = sets ? {} : facts[0]!;
  // `target_held` keeps the position that it has in older entries: before the KPIs of an apply, and last in a rollback.
  const circumstance = {
    ...(operation === "apply" && rollout && { stage: { step: 0, share: rollout.shares[0] } }),
    ...(target_spelling !== undefined && { target_spelling }),
    ...(sets ? { sets } : { adapter }),
    ...listReasonFacts(transaction, request),
    ...resolution,
    ...(operation === "apply" && { ...(!sets && { target_held }), kpis: await readRecordedKpis(transaction) }),
    ...otherFacts,
    ...(operation === "rollback" && target_held !== undefined && { target_held }),
  };
  const replaced = done.map(({ operand }, index) => ({ operand, target_held: facts[index]!.target_held ?? null }));
  const result = transaction.execute(before, { type: "succeed", operation, circumstance }, request);
  if (operation === "apply") {
    await storeOwnership(transaction, result.record, replaced);
    watchChange(transaction, result.record);
  } else {
    await removeOwnership(transaction, result.record, done);
    const { change_id } = before.change;
    if (await transaction.tx.get("guardrail_due", change_id)) transaction.tx.delete("guardrail_due", change_id);
    await suspendApproving(transaction, result.record.change, "rollback");
  }
  return { ...result, replaced };
}

/** The change that was in force on a target before an apply. */
interface Replaced {
  operand: Change;
  target_held: string | null;
}

interface RecordedSuccess extends CommandResult {
  replaced: readonly Replaced[];
}

/** The facts of an operation about one target. */
interface TargetFacts {
  target_spelling?: string;
  adapter: object | null;
  /** The change in force before an apply; in a rollback, the change that the apply had replaced, if it is still applied. */
  target_held?: string | null;
  /** The change in force after a rollback. */
  target_holds?: string | null;
  previous_digest?: string | null;
}

async function readTargetFacts(
  { ledger, sha256 }: Transaction,
  before: ChangeRecord,
  operation: Operation,
  { operand, adapter }: DoneOperand,
): Promise<TargetFacts> {
  const target_spelling = await ledger.spelling(operand);
  return {
    ...(target_spelling === operand.target ? {} : { target_spelling }),
    adapter: adapter && omitPrevious(adapter),
    ...(operation === "apply"
      ? { target_held: await ledger.owner(operand), ...digestPrevious(adapter?.previous, sha256) }
      : await ledger.ownerAfterRollback(before, operand)),
  };
}

const toPlanTarget = ({ tenant_id, target }: Change, facts: TargetFacts) => ({ tenant_id, target, ...facts });

/** Formats the key of an applied change on a target. Keys are in the order of applies, so the last one is in force. */
const ownerKey = (target: TargetKey, { entry }: ApplyRecord): string => formatTargetKey(target) + entryKey(entry);

async function storeOwnership(
  { tx }: Transaction,
  { change, applied }: ChangeRecord,
  replaced: readonly Replaced[],
): Promise<void> {
  let remaining = MAX_DROPPED_EPISODES;
  for (const { operand, target_held } of replaced) {
    // `presumed new`: a shared store need not read the row first.
    tx.put("owners", ownerKey(operand, applied!), change.change_id, "presumed new");
    if (operand.value !== undefined) tx.put("set_targets", formatTargetKey(operand), applied!.entry);
    if (target_held !== null) remaining -= await dropEpisodes(tx, target_held, [operand], remaining);
  }
}

async function removeOwnership(
  { tx }: Transaction,
  { change, applied }: ChangeRecord,
  done: readonly Pick<DoneOperand, "operand">[],
): Promise<void> {
  const targets = done.map(({ operand }) => operand);
  if (applied) for (const target of targets) tx.delete("owners", ownerKey(target, applied));
  await dropEpisodes(tx, change.change_id, targets);
}

/** Deletes up to `limit` drift episodes of targets on which a change is no longer in force, and returns their number. */
async function dropEpisodes(
  tx: Tx,
  changeId: string,
  targets: readonly TargetKey[],
  limit = MAX_EPISODES,
): Promise<number> {
  const page = await tx.list("drift", { prefix: changeId, limit: MAX_EPISODES });
  const ended = page.filter(({ value }) => targets.some((target) => isSameTarget(value, target))).slice(0, limit);
  for (const { id } of ended) tx.delete("drift", id);
  return ended.length;
}

/** An operand whose value was set again. */
export interface RestoredOperand {
  operand: Change;
  adapter: RestoreResult & { name: string };
  /** State of the host after the restore, if that is not `applied`. */
  host?: HostState | undefined;
}

/** Result of a restore. */
interface RestoreFacts {
  operands: readonly RestoredOperand[];
  resolved_after_interruption?: true;
  late?: true;
}

/** Records that values of a change were set again; the entry has the digests of the values that they replaced. */
export async function recordRestore(
  { tx, execute, product }: Transaction,
  before: ChangeRecord,
  request: RestoreRequest,
  { operands, ...resolution }: RestoreFacts,
): Promise<CommandResult> {
  const { note, signed } = request;
  // The entry names the current intent, so a signature under an earlier one must not appear in it.
  const isCurrent = signed === undefined || signed.manifest_hash === product.manifest_hash;
  const { actor, authenticated, idp }: Actor = isCurrent ? request : serviceActor();
  const facts = operands.map(({ adapter: { replaced_digest, ...adapter }, host }) => ({
    ...(replaced_digest !== undefined && { replaced_digest }),
    adapter,
    ...(host !== undefined && { host }),
  }));
  const sets = operands.map(({ operand: { tenant_id, target } }, index) => ({ tenant_id, target, ...facts[index] }));
  const circumstance = {
    ...(isPlan(before.change) ? { sets } : facts[0]),
    ...(hasRecordedName({ actor, authenticated }) && { by: actor }),
    ...(note && { note }),
    ...resolution,
    ...(isCurrent && signed?.facts),
  };
  const result = execute(before, { type: "restore", circumstance }, { actor, authenticated, idp });
  const restored = operands.filter(({ host }) => host === undefined).map(({ operand }) => operand);
  await dropEpisodes(tx, before.change.change_id, restored);
  return result;
}

/** Returns true if the proxy names the actor, or the actor is the service itself. */
const hasRecordedName = (actor: Actor): boolean =>
  actor.actor !== null && (isNamedByProxy(actor) || actor.authenticated === null);

/** An operand after a failed operation: the host's state, and the result if the operation is done on it. */
export interface OperandState {
  operand: Change;
  host: HostState;
  adapter?: NamedResult | null | undefined;
  failure?: HostFailure | undefined;
}

/**
 * Records that an operation failed: one entry with the stage, the error and the host's state. The status of the change remains. A
 * failure that the service's own retries repeat is recorded once a day. `states`: the state of each target of a plan; the change
 * is no longer in force on targets that a failed rollback has restored.
 */
export async function recordFailure(
  transaction: Transaction,
  before: ChangeRecord,
  request: OperationRequest,
  failure: HostFailure,
  states: readonly OperandState[] = [],
): Promise<CommandResult> {
  const { operation } = request;
  // Each failure of a plan is recorded, since the try may have rolled back further targets.
  const earlierEntry = isPlan(before.change) ? undefined : await findSameFailure(transaction, before, request, failure);
  if (earlierEntry) return { record: before, change: json(before.change), entry: earlierEntry };
  const operandStates = isPlan(before.change)
    ? [...states, ...listRecordedOnly(transaction, before, operation, failure, states)]
    : [];
  const sets: object[] = [];
  for (const { operand, host, adapter, failure: operandFailure } of operandStates) {
    const { tenant_id, target } = operand;
    const { stage, error, unanswered, drifted } = operandFailure ?? {};
    const isRolledBack = operation === "rollback" && adapter !== undefined;
    const facts = isRolledBack && (await readTargetFacts(transaction, before, operation, { operand, adapter }));
    const failureFacts = {
      ...(operandFailure && { stage, error }),
      ...(unanswered && { unanswered }),
      ...(drifted && { drifted }),
    };
    sets.push({ tenant_id, target, host, ...failureFacts, ...facts });
  }
  const circumstance = { ...failure, ...(sets.length > 0 && { sets }), ...listReasonFacts(transaction, request) };
  const result = transaction.execute(before, { type: "fail", operation, circumstance }, request);
  if (operation === "rollback")
    await suspendApproving(transaction, before.change, failure.drifted ? "target_drifted" : "rollback");
  if (operation === "rollback" && sets.length > 0)
    await removeOwnership(
      transaction,
      result.record,
      operandStates.filter(({ adapter }) => adapter !== undefined),
    );
  return result;
}

/**
 * Lists the operands that no target system carries, such as a release: a failed rollback also rolls them back, unless drift
 * blocked the rollback of every operand.
 */
function listRecordedOnly(
  { product: { adapter } }: Transaction,
  before: ChangeRecord,
  operation: Operation,
  { drifted }: HostFailure,
  states: readonly OperandState[],
): OperandState[] {
  const isBlockedByDrift = drifted && states.every((state) => state.adapter === undefined);
  if (operation !== "rollback" || !adapter || isBlockedByDrift) return [];
  return listAppliedOperands(before)
    .filter((operand) => !findCarrier(adapter, operand))
    .filter(({ change_id }) => states.every(({ operand }) => operand.change_id !== change_id))
    .map((operand) => ({ operand, host: "rolled_back", adapter: null }));
}

/** Lists actor, note and circumstances for an entry; `by` is a person that the proxy names, or the service itself. */
const listReasonFacts = ({ product }: Transaction, request: OperationRequest): object => {
  const { note, evidence, target_moved, value_moved, step_base, place_moved, over_drift, emergency, mended, signed } =
    request;
  return {
    ...(hasRecordedName(request) ? { by: request.actor } : {}),
    ...(note ? { note } : {}),
    ...(evidence ? { evidence } : {}),
    ...(target_moved ? { target_moved } : {}),
    ...(value_moved ? { value_moved } : {}),
    ...(step_base ? { step_base } : {}),
    ...(place_moved ? { place_moved } : {}),
    ...(over_drift ? { over_drift } : {}),
    ...(emergency ? { emergency } : {}),
    ...(mended ? { mended } : {}),
    // The entry names the current intent, so a signature under an earlier one must not appear in it.
    ...(signed?.manifest_hash === product.manifest_hash ? signed.facts : {}),
  };
};

/** Returns the digest of the value that an apply replaced, if the adapter reports it. */
function digestPrevious(previous: AdapterResult["previous"], sha256: Sha256): Pick<TargetFacts, "previous_digest"> {
  if (previous === null) return { previous_digest: null };
  if (previous === undefined) return {};
  try {
    return { previous_digest: sha256(canonicalJson(previous.value)) };
  } catch {
    // The adapter reports a value that is no JSON.
    return {};
  }
}
