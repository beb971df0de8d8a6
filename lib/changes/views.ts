/** What is read of one change, and of the log. */
import type { AuditEntry } from "../audit/entry.ts";
import { auditPage, type AuditQuery, type AuditText, entriesOf } from "../audit/page.ts";
import type { ChangesDeps } from "./deps.ts";
import { expireDue } from "./expiry.ts";
import { heldNow } from "./freeze.ts";
import { findChange, readRecord } from "./records.ts";
import type { Change } from "./rules/change.ts";
import { overdueStep } from "./rules/overdue.ts";
import { type Signer, signersOf } from "./rules/signers.ts";
import { type Standing, standingsOf } from "./standings.ts";

/** A change, and what is to be known before one decides on it. */
export interface ChangeView extends Change, Standing {
  audit_entries: AuditEntry[];
  signers: Signer[];
}

/** One change with its entries, what may be asked of it, and what stands in its way; 404 `change_not_found`. */
export async function changeView(deps: ChangesDeps, changeId: string): Promise<ChangeView> {
  const { store, clock, product } = deps;
  const { intent } = product!;
  let record = await findChange(store, changeId);
  if (overdueStep(record.change, intent.policy, clock.now())) {
    await tryExpire(deps, expireDue(deps, [changeId]));
    record = await findChange(store, changeId);
  }
  const [entries, standings] = await Promise.all([
    entriesOf(store, record.audit),
    heldNow(deps).then((holds) => standingsOf(deps, [record], holds)),
  ]);
  const { allowed_actions, missing, gates } = standings[0]!;
  return {
    ...record.change,
    audit_entries: entries,
    allowed_actions,
    missing,
    signers: signersOf(entries),
    gates,
  };
}

/** A page of the log; with `change_id`, of what it says about that change. */
export async function logPage(
  deps: ChangesDeps,
  { change_id, ...query }: Omit<AuditQuery, "ids"> & { change_id?: string | undefined },
): Promise<AuditText> {
  if (change_id === undefined) return auditPage(deps, query);
  return auditPage(deps, { ...query, ids: (await readRecord(deps.store, change_id))?.audit ?? [] });
}

/** A read judges what is overdue first; where that cannot be written now, the read is answered all the same. */
export async function tryExpire(deps: ChangesDeps, expiry: Promise<unknown>): Promise<void> {
  await expiry.catch((error: unknown) => deps.log.warn("expiry waits", { error: String(error) }));
}
