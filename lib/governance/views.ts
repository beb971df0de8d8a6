/** What is read of one change, and of the log. */
import type { AuditEntry } from "../audit/entry.ts";
import { auditPage, type AuditQuery, type AuditText, entriesOf } from "../audit/page.ts";
import type { GovernanceDeps } from "./deps.ts";
import { expireDue } from "./record_decision.ts";
import type { EarlierRecord } from "./earlier.ts";
import { findChange, liveOn } from "./records.ts";
import type { Change } from "./rules/change.ts";
import { type Gate, gatesOf } from "./rules/gates.ts";
import type { ChangeRecord } from "./rules/record.ts";
import { allowedActions } from "./rules/state_machine.ts";

/** One change with its entries, what may be asked of it, and what stands in its way; 404 `change_not_found`. */
export async function changeView(
  deps: GovernanceDeps,
  changeId: string,
): Promise<Change & { audit_entries: AuditEntry[]; allowed_actions: string[]; gates: Gate[] }> {
  await quietly(deps, expireDue(deps, [changeId]));
  const record = await findChange(deps.store, changeId);
  return {
    ...record.change,
    audit_entries: await entriesOf(deps.store, record.audit),
    allowed_actions: allowedActions(record.change.status),
    gates: await gatesNow(deps, record),
  };
}

/** A page of the log; with `change_id`, of what it says about that change. */
export async function logPage(
  { store }: GovernanceDeps,
  { change_id, ...query }: Omit<AuditQuery, "ids"> & { change_id?: string | undefined },
): Promise<AuditText> {
  if (change_id === undefined) return auditPage(store, query);
  return auditPage(store, { ...query, ids: (await store.get("changes", change_id))?.value.audit ?? [] });
}

/** The gates of a change as they stand now. */
export async function gatesNow(
  { store, product }: GovernanceDeps,
  record: ChangeRecord | EarlierRecord,
): Promise<Gate[]> {
  const { change } = record;
  const { change_id } = change;
  const [conflicts, lease, mark] = await Promise.all([
    liveOn(store, change, change_id),
    store.get("leases", change_id),
    store.get("guardrail_marks", change_id),
  ]);
  const guardrail = mark?.value ?? ("guardrail" in record ? record.guardrail : undefined);
  return gatesOf(change, {
    policy: product!.intent.policy,
    conflicts,
    operation: lease && (lease.value.unsettled ? "unsettled" : "running"),
    guardrail,
  });
}

/** A read judges what is overdue first; where that cannot be written now, the read is answered all the same. */
export async function quietly(deps: GovernanceDeps, expiry: Promise<unknown>): Promise<void> {
  await expiry.catch((error: unknown) => deps.log.warn("expiry waits", { error: String(error) }));
}
