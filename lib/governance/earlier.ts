/** What versions before 0.2 left in a store, and how it is taken up. */
import type { Store, Tx } from "../store/store.ts";
import { foldEntries } from "./history.ts";
import type { Change } from "./rules/change.ts";
import type { GuardrailEvidence } from "./rules/guardrail.ts";
import type { ChangeRecord } from "./rules/record.ts";

/** Two writes each, within what a transaction may hold. */
const SLICE = 20;

/** A record that does not say what its apply was about. */
export interface EarlierRecord {
  change: Change;
  audit: readonly number[];
  applied?: undefined;
  guardrail?: GuardrailEvidence;
}

/** A record as it is kept now: what it lacks is told by its entries. */
export async function upgraded(tx: Tx, record: ChangeRecord | EarlierRecord): Promise<ChangeRecord> {
  if (record.applied !== undefined) return record;
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
        tx.put("leases", id, { ...claim, actor: by, authenticated });
        tx.delete("claims", id);
      }
    });
}
