/** What apply and rollback record when they end, well or badly. */
import { entryKey } from "../../audit/chain.ts";
import { canonicalJson } from "../../kit/canonical_json.ts";
import type { AdapterResult } from "./adapter_port.ts";
import { watch } from "../guardrail.ts";
import { kpisTold } from "../kpis_told.ts";
import type { Tx } from "../../store/store.ts";
import { type Asked, targetKey } from "../records.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { ownerTold, targetSpelling, targetWithout } from "../target_told.ts";
import type { Enacted, Transaction } from "../transaction.ts";
import type { HostFailure } from "./run_adapter.ts";

/** What an adapter did, and which it was. */
export type NamedResult = AdapterResult & { name: string };

/** The part of a result that is recorded and answered: what was there before is told by its digest only. */
export const shownOf = ({ previous: _, ...shown }: NamedResult): Omit<NamedResult, "previous"> => shown;

/**
 * Records that an operation is done: the status moves, the target's owner with it. `found`: it was the host that told of it,
 * after an interruption, or `late`, after it had failed.
 */
export async function recordSuccess(
  transaction: Transaction,
  before: ChangeRecord,
  asked: Asked,
  adapter: NamedResult | null,
  found: { resolved_after_interruption?: true; late?: true } = {},
): Promise<Enacted> {
  const { tx } = transaction;
  const { operation } = asked;
  const target_held = operation === "apply" ? await ownerTold(transaction, before.change) : null;
  const target_spelling = await targetSpelling(transaction, before.change);
  const circumstance = {
    ...(target_spelling === before.change.target ? {} : { target_spelling }),
    adapter: adapter && shownOf(adapter),
    ...reasonOf(asked),
    ...found,
    ...(operation === "apply"
      ? { target_held, ...(await factsOf(transaction, adapter?.previous)) }
      : await targetWithout(transaction, before)),
  };
  const enacted = transaction.enact(before, { type: "succeed", operation, circumstance }, asked);
  const { change, applied } = enacted.record;
  const { change_id } = change;
  // In the order of their apply: the last of a target owns it.
  const place = applied && targetKey(change) + entryKey(applied.entry);
  if (operation === "apply") {
    tx.put("owners", place!, change_id);
    watch(transaction, enacted.record);
    // The host need not show any more what another change set there.
    if (target_held !== null) await drop(tx, ["drift"], target_held);
  } else {
    if (place) tx.delete("owners", place);
    await drop(tx, ["drift", "guardrail_due"], change_id);
  }
  return enacted;
}

async function drop(tx: Tx, collections: readonly ("drift" | "guardrail_due")[], changeId: string): Promise<void> {
  for (const collection of collections) if (await tx.get(collection, changeId)) tx.delete(collection, changeId);
}

/** Records that an operation failed: the status stays, one entry tells the stage, the error and how the host was left. */
export const recordFailure = (
  transaction: Transaction,
  before: ChangeRecord,
  asked: Asked,
  failure: HostFailure,
): Enacted => {
  const circumstance = { ...failure, ...reasonOf(asked) };
  return transaction.enact(before, { type: "fail", operation: asked.operation, circumstance }, asked);
};

/** `by` is whom the service vouches for: a person that the proxy names, or itself. */
const reasonOf = ({
  actor,
  authenticated,
  note,
  evidence,
  target_moved,
  over_drift,
  emergency,
  mended,
}: Asked): object => ({
  ...(actor !== null && (authenticated === "proxy" || authenticated === null) ? { by: actor } : {}),
  ...(note ? { note } : {}),
  ...(evidence ? { evidence } : {}),
  ...(target_moved ? { target_moved } : {}),
  ...(over_drift ? { over_drift } : {}),
  ...(emergency ? { emergency } : {}),
  ...(mended ? { mended } : {}),
});

/** What is remembered of an apply: the KPIs as they were, and what it replaced, as far as the adapter says. */
async function factsOf(transaction: Transaction, previous: AdapterResult["previous"]): Promise<object> {
  const kpis = await kpisTold(transaction);
  if (previous === null) return { kpis, previous_digest: null };
  // What the adapter does not say stays unproven.
  if (previous === undefined) return { kpis };
  try {
    return { kpis, previous_digest: transaction.sha256(canonicalJson(previous.value)) };
  } catch {
    // It says what is no JSON.
    return { kpis };
  }
}
