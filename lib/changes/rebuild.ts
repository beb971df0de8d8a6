/** Makes what does not hold anew from the log, each on record; what the log does not tell of, a content, must be restored. */
import type { ChangesDeps } from "./deps.ts";
import { viewsOf } from "./judge.ts";
import { latestTold } from "./latest_told.ts";
import { reconcile, type StateMismatch } from "./reconcile.ts";
import { serviceItself } from "./rules/actor.ts";
import { asRead } from "./rules/written_record.ts";
import { governed } from "./transaction.ts";
import { fromLog } from "./verified_record.ts";

/** What was made anew, and what could not be. */
export interface Rebuilt {
  rebuilt: StateMismatch[];
  /** Their content is not the one that the log tells of, or is gone: only a backup has it. */
  left: StateMismatch[];
}

/** Rebuilds every record that does not hold. Errors: 503 `chain_broken`. */
export async function rebuildRecords(deps: ChangesDeps): Promise<Rebuilt> {
  delete deps.integrity.reconciled;
  const { mismatches } = await reconcile(deps);
  const outcome: Rebuilt = { rebuilt: [], left: [] };
  for (const mismatch of mismatches) {
    const { change_id, fields } = mismatch;
    const isMade = change_id === "" ? await rebuildLatest(deps, fields) : await rebuildChange(deps, mismatch);
    (isMade ? outcome.rebuilt : outcome.left).push(mismatch);
  }
  delete deps.integrity.reconciled;
  return outcome;
}

const rebuildChange = (deps: ChangesDeps, { change_id, fields }: StateMismatch): Promise<boolean> =>
  governed<boolean>({ deps }, async (transaction) => {
    const { tx, evidence, sha256 } = transaction;
    const kept = await tx.get("changes", change_id);
    const made = kept && (await fromLog(asRead(kept), { evidence, sha256 }, change_id));
    if (!made) return false;
    const { record } = transaction.enact(made, { type: "rebuild", fields }, serviceItself());
    for (const { view, id, value } of viewsOf(record))
      if (value === undefined) tx.delete(view, id);
      else tx.put(view, id, value as never);
    return true;
  }) as Promise<boolean>;

/** The freeze, or the last value of every KPI. */
async function rebuildLatest(deps: ChangesDeps, fields: readonly string[]): Promise<boolean> {
  const latest = latestTold(deps.store);
  for (;;) {
    await latest.readOn();
    const isMade = await governed<boolean>({ deps }, async (transaction) => {
      const { tx, append } = transaction;
      const { length, freeze, kpis } = latest.told();
      if (length !== transaction.length) return false;
      append({ event_type: "record_rebuilt", detail: { fields, ...serviceItself() } });
      if (fields.includes("kpi")) tx.put("kpi", "latest", kpis);
      if (fields.includes("freeze") && freeze) tx.put("meta", "freeze", freeze);
      else if (fields.includes("freeze")) tx.delete("meta", "freeze");
      return true;
    });
    if (isMade === true) return true;
  }
}
