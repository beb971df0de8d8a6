/**
 * Rebuilds mismatched records from the log, with an entry for each. Contents are not in the log: only a backup can restore them.
 */
import type { ChangesDeps } from "./deps.ts";
import { listIndexRows } from "./ledger/scan_records.ts";
import { storeMandate } from "./mandates/collections.ts";
import { createLatestState } from "./latest_from_log.ts";
import { reconcile, type StateMismatch } from "./reconcile.ts";
import { serviceActor } from "./rules/actor.ts";
import { fromStoredChange } from "./rules/stored_record.ts";
import { runTransaction } from "./transaction.ts";

/** Records that were rebuilt, and records that could not be rebuilt. */
export interface RebuildResult {
  rebuilt: StateMismatch[];
  /** Records whose content is missing or does not match its digest: only a backup has it. */
  left: StateMismatch[];
}

/** Rebuilds every record that does not match the log. Errors: 503 `chain_broken`. */
export async function rebuildRecords(deps: ChangesDeps): Promise<RebuildResult> {
  // An earlier comparison may be cached; after the rebuild, this one is outdated.
  delete deps.integrity.reconciled;
  const { mismatches } = await reconcile(deps);
  const outcome: RebuildResult = { rebuilt: [], left: [] };
  for (const mismatch of mismatches) {
    const { change_id, fields } = mismatch;
    // Without an id, the freeze, the KPIs or the mandates do not match.
    const isRebuilt = change_id === "" ? await rebuildLatest(deps, fields) : await rebuildChange(deps, mismatch);
    (isRebuilt ? outcome.rebuilt : outcome.left).push(mismatch);
  }
  delete deps.integrity.reconciled;
  return outcome;
}

const rebuildChange = (deps: ChangesDeps, { change_id, fields }: StateMismatch): Promise<boolean> =>
  runTransaction<boolean>({ deps }, async (transaction) => {
    const { tx, ledger } = transaction;
    const stored = await tx.get("changes", change_id);
    const rebuilt = stored && (await ledger.rebuild(change_id, fromStoredChange(stored)));
    if (!rebuilt) return false;
    const { record } = transaction.execute(rebuilt, { type: "rebuild", fields }, serviceActor());
    for (const { index, id, value } of listIndexRows(record))
      if (value === undefined) tx.delete(index, id);
      else tx.put(index, id, value as never);
    return true;
  });

/** Rebuilds the stored freeze, KPIs or mandates. */
async function rebuildLatest(deps: ChangesDeps, fields: readonly string[]): Promise<boolean> {
  const latest = createLatestState(deps.store);
  for (;;) {
    await latest.readRemaining();
    const isRebuilt = await runTransaction<boolean>({ deps }, async (transaction) => {
      const { tx, append } = transaction;
      const { length, freeze, kpis, mandates } = latest.logged();
      // Entries were appended in the meantime; they are read before the next attempt.
      if (length !== transaction.length) return false;
      append({ event_type: "record_rebuilt", detail: { fields, ...serviceActor() } });
      if (fields.includes("mandates")) for (const mandate of mandates.values()) storeMandate(tx, mandate);
      if (fields.includes("kpi")) tx.put("kpi", "latest", kpis);
      if (fields.includes("freeze") && freeze) tx.put("meta", "freeze", freeze);
      else if (fields.includes("freeze")) tx.delete("meta", "freeze");
      return true;
    });
    if (isRebuilt) return true;
  }
}
