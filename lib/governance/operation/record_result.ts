/** What apply and rollback record when they end, well or badly. */
import { entryKey } from "../../audit/chain.ts";
import type { AuditEntry } from "../../audit/entry.ts";
import { rememberVerdict } from "../../memory/remember_steps.ts";
import { addGrowth } from "../../follow/growth_log.ts";
import { tallySettled } from "../../follow/tally_steps.ts";
import type { Change } from "../rules/change.ts";
import { unwatch, watch } from "../guardrail.ts";
import type { HostFailure } from "./run_adapter.ts";
import { NO_KPIS } from "../rules/kpi.ts";
import { closeOutcome, openOutcome } from "../rules/outcome.ts";
import { type ChangeRecord, type Claim, targetKey } from "../records.ts";
import { transition } from "../rules/transitions.ts";
import type { Unit } from "../transaction.ts";

type Operation = Claim["operation"];

/** What is recorded beside the operation: who asked, what the adapter said, why it was not a request. */
export interface Circumstance {
  adapter: { name: string; result: string; detail?: unknown } | null;
  by?: string | undefined;
  evidence?: unknown;
  /** The operation was found half done, and the host's answer settled it. */
  resolved_after_interruption?: true;
}

/** Records that an operation is done: the status moves, views follow, one entry. */
export async function settle(
  unit: Unit,
  record: ChangeRecord,
  operation: Operation,
  circumstance: Circumstance,
): Promise<{ record: ChangeRecord; entry: AuditEntry }> {
  const { change } = record;
  const status = transition(change, operation);
  const stamped: Change =
    operation === "apply" ? { ...change, status, applied_at: unit.at } : { ...change, status, rolled_back_at: unit.at };
  const saved = await unit.save(record, stamped, {
    event_type: operation === "apply" ? "change_applied" : "change_rolled_back",
    detail: { status, ...circumstance, digest: change.digest, manifest_hash: unit.product.manifest_hash },
  });
  await (operation === "apply" ? afterApply(unit, saved.record, saved.entry) : afterRollback(unit, saved.record));
  await tallySettled(unit, saved.record, circumstance.by);
  if (circumstance.adapter) unit.tx.put("meta", "adapter", { last_error: null, at: unit.at });
  return saved;
}

/** Records that an operation failed: the status stays, one entry tells the stage, the error and how the host was left. */
export async function settleFailure(
  unit: Unit,
  record: ChangeRecord,
  operation: Operation,
  failure: HostFailure & Partial<Circumstance>,
): Promise<AuditEntry> {
  const { entry } = await unit.save(record, record.change, {
    event_type: operation === "apply" ? "change_apply_failed" : "change_rollback_failed",
    detail: {
      status: record.change.status,
      ...failure,
      digest: record.change.digest,
      manifest_hash: unit.product.manifest_hash,
    },
  });
  unit.tx.put("meta", "adapter", { last_error: failure.error, at: unit.at });
  await addGrowth(unit.tx, {
    at: unit.at,
    kind: "operation_failed",
    title: `${operation} of ${record.change.change_id} failed in ${failure.stage}`,
    detail: `The host shows ${failure.host}.`,
    ref: record.change.change_id,
  });
  return entry;
}

async function afterApply({ tx, now }: Unit, record: ChangeRecord, entry: AuditEntry): Promise<void> {
  const { change } = record;
  const kpis = (await tx.get("kpi", "latest"))?.value ?? NO_KPIS;
  tx.put("outcomes", change.change_id, openOutcome(change, kpis, { at: entry.timestamp, entry: entry.id }));
  tx.put("outcomes_open", change.change_id, true);
  tx.put("owners", ownerKey(change, entry.id), change.change_id);
  await watch(tx, record, now);
}

async function afterRollback({ tx, at, product }: Unit, record: ChangeRecord): Promise<void> {
  const { change } = record;
  const kpis = (await tx.get("kpi", "latest"))?.value ?? NO_KPIS;
  const outcome = (await tx.get("outcomes", change.change_id))?.value;
  if (outcome) {
    tx.put("outcomes", change.change_id, closeOutcome(outcome, "rollback", kpis, product.intent, at));
    await rememberVerdict(tx, change.change_id);
    tx.delete("owners", ownerKey(change, outcome.applied_entry));
  }
  tx.delete("outcomes_open", change.change_id);
  tx.delete("drift", change.change_id);
  await unwatch(tx, record);
}

/** Applied changes by target, in the order of their apply: the last of a target owns it. */
const ownerKey = (change: Change, appliedEntry: number): string => targetKey(change) + entryKey(appliedEntry);
