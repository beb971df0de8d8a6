/** Records the end of an apply or a rollback. */
import { entryKey } from "../../audit/chain.ts";
import { canonicalJson } from "../../kit/canonical_json.ts";
import type { AdapterResult, HostState, RestoreResult } from "./adapter_port.ts";
import { watch } from "../guardrail.ts";
import { readRecordedKpis } from "../recorded_kpis.ts";
import type { Tx } from "../../store/store.ts";
import { type OperationRequest, type RestoreRequest, targetKey } from "../records.ts";
import { type Actor, isNamedByProxy, serviceItself } from "../rules/actor.ts";
import { listEntries } from "../rules/list_entries.ts";
import type { ChangeRecord } from "../rules/record.ts";
import type { Enacted, Transaction } from "../transaction.ts";
import type { HostFailure } from "./run_adapter.ts";

/** The result of an adapter, with its name. */
export type NamedResult = AdapterResult & { name: string };

/** Returns the part of a result that is recorded: of the replaced value only the digest is. */
export const withoutPrevious = ({ previous: _, ...shown }: NamedResult): Omit<NamedResult, "previous"> => shown;

/**
 * Records that an operation is done: the status of the change and the owner of the target. `found`: the host reported it after
 * an interruption, or `late`, after it had failed.
 */
export async function recordSuccess(
  transaction: Transaction,
  before: ChangeRecord,
  request: OperationRequest,
  adapter: NamedResult | null,
  found: { resolved_after_interruption?: true; late?: true } = {},
): Promise<Recorded> {
  const { tx, ledger } = transaction;
  const { operation } = request;
  const target_held = operation === "apply" ? await ledger.owner(before.change) : null;
  const target_spelling = await ledger.spelling(before.change);
  const { rollout } = before;
  const circumstance = {
    ...(operation === "apply" && rollout && { stage: { step: 0, share: rollout.shares[0] } }),
    ...(target_spelling === before.change.target ? {} : { target_spelling }),
    adapter: adapter && withoutPrevious(adapter),
    ...reasonFacts(transaction, request),
    ...found,
    ...(operation === "apply"
      ? { target_held, ...(await applyFacts(transaction, adapter?.previous)) }
      : await ledger.ownerWithout(before)),
  };
  const enacted = transaction.enact(before, { type: "succeed", operation, circumstance }, request);
  const { change, applied } = enacted.record;
  const { change_id } = change;
  // Keys in the order of applies: the last one of a target owns it.
  const place = applied && targetKey(change) + entryKey(applied.entry);
  if (operation === "apply") {
    tx.put("owners", place!, change_id);
    for (const entry of listEntries(change))
      if (entry.value !== undefined) tx.put("set_targets", targetKey(entry), applied!.entry);
    watch(transaction, enacted.record);
    if (target_held !== null) await drop(tx, ["drift"], target_held);
  } else {
    if (place) tx.delete("owners", place);
    await drop(tx, ["drift", "guardrail_due"], change_id);
  }
  return { ...enacted, target_held };
}

/** A recorded operation, and the change that owned the target before an apply. */
interface Recorded extends Enacted {
  target_held: string | null;
}

/** Result of a restore. */
interface RestoreFacts {
  adapter: RestoreResult & { name: string };
  /** State of the host after it, where that is not `applied`. */
  host?: HostState | undefined;
  resolved_after_interruption?: true;
  late?: true;
}

/** Records that the value of a change was set again: the entry says what it replaced, by its digest. */
export async function recordRestore(
  { tx, enact, product }: Transaction,
  before: ChangeRecord,
  request: RestoreRequest,
  { adapter: { replaced_digest, ...adapter }, ...found }: RestoreFacts,
): Promise<Enacted> {
  const { note, signed } = request;
  // The entry names the intent of now: under it nobody signed what was signed under an earlier one.
  const isCurrent = signed === undefined || signed.manifest_hash === product.manifest_hash;
  const { actor, authenticated } = isCurrent ? request : serviceItself();
  const circumstance = {
    ...(replaced_digest !== undefined && { replaced_digest }),
    adapter,
    ...(isNamedBy({ actor, authenticated }) && { by: actor }),
    ...(note && { note }),
    ...found,
    ...(isCurrent && signed?.facts),
  };
  const enacted = enact(before, { type: "restore", circumstance }, { actor, authenticated });
  if (found.host === undefined) await drop(tx, ["drift"], before.change.change_id);
  return enacted;
}

/** Returns true where the proxy names the actor, or it is the service itself. */
const isNamedBy = (by: Actor): boolean => by.actor !== null && (isNamedByProxy(by) || by.authenticated === null);

async function drop(tx: Tx, collections: readonly ("drift" | "guardrail_due")[], changeId: string): Promise<void> {
  for (const collection of collections) if (await tx.get(collection, changeId)) tx.delete(collection, changeId);
}

/** Records that an operation failed: one entry with the stage, the error and the state of the host; the status remains. */
export const recordFailure = (
  transaction: Transaction,
  before: ChangeRecord,
  request: OperationRequest,
  failure: HostFailure,
): Enacted => {
  const circumstance = { ...failure, ...reasonFacts(transaction, request) };
  return transaction.enact(before, { type: "fail", operation: request.operation, circumstance }, request);
};

/** Returns the actor, the note and the circumstances; `by` is a person that the proxy names, or the service itself. */
const reasonFacts = ({ product }: Transaction, request: OperationRequest): object => {
  const { note, evidence, target_moved, value_moved, step_base, place_moved, over_drift, emergency, mended, signed } =
    request;
  return {
    ...(isNamedBy(request) ? { by: request.actor } : {}),
    ...(note ? { note } : {}),
    ...(evidence ? { evidence } : {}),
    ...(target_moved ? { target_moved } : {}),
    ...(value_moved ? { value_moved } : {}),
    ...(step_base ? { step_base } : {}),
    ...(place_moved ? { place_moved } : {}),
    ...(over_drift ? { over_drift } : {}),
    ...(emergency ? { emergency } : {}),
    ...(mended ? { mended } : {}),
    // The entry names the intent of now: a statement under an earlier one is no statement of it.
    ...(signed?.manifest_hash === product.manifest_hash ? signed.facts : {}),
  };
};

/** Returns the KPIs at an apply, and the digest of the value that it replaced, as far as the adapter says it. */
async function applyFacts(transaction: Transaction, previous: AdapterResult["previous"]): Promise<object> {
  const kpis = await readRecordedKpis(transaction);
  if (previous === null) return { kpis, previous_digest: null };
  if (previous === undefined) return { kpis };
  try {
    return { kpis, previous_digest: transaction.sha256(canonicalJson(previous.value)) };
  } catch {
    // The adapter reports a value that is no JSON.
    return { kpis };
  }
}
