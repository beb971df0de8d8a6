/** What versions before 0.2 left in a store, and how it is taken up. */
import type { Store, Tx } from "../store/store.ts";
import { foldEntries } from "./history.ts";
import { type EarlierRecord, placeOf, readRecord } from "./records.ts";
import { type ChangeRecord, isWhole } from "./rules/record.ts";

/** Two writes each, within what a transaction may hold. */
const SLICE = 20;

/** A record as it is kept now: what it lacks is told by its entries. */
export async function upgraded(tx: Tx, record: ChangeRecord | EarlierRecord): Promise<ChangeRecord> {
  // What is no record at all is not taken up, and named when it is held against the log.
  if ((record as ChangeRecord | null)?.applied !== undefined || !isWhole(record)) return record as ChangeRecord;
  const { change, audit, guardrail } = record as EarlierRecord;
  if (guardrail) tx.put("guardrail_marks", change.change_id, guardrail);
  const applied = change.applied_at === null ? null : ((await foldEntries(tx, audit))?.applied ?? null);
  return { change, audit, applied };
}

/** Makes leases of the claims that an earlier process left, so that they are recovered like any other. */
export async function takeUpClaims(store: Store): Promise<void> {
  while ((await store.list("claims", { limit: 1, keysOnly: true })).length > 0)
    await store.transact(async (tx) => {
      for (const { id, value } of await tx.list("claims", { limit: SLICE })) {
        const { by = null, ...claim } = value;
        const authenticated = by === null || by.startsWith("policy:") ? null : "proxy";
        const change = (await readRecord(tx, id))?.change;
        const place = change && placeOf(change);
        tx.put("leases", place ?? id, { ...claim, place, actor: by, authenticated });
        tx.delete("claims", id);
      }
    });
}
