/** What is read of one change, and of the log. */
import type { AuditEntry } from "../audit/entry.ts";
import { readHead } from "../audit/chain.ts";
import { auditPage, type AuditQuery, type AuditText, entriesOf } from "../audit/page.ts";
import type { GovernanceDeps } from "./deps.ts";
import { expireDue } from "./expiry.ts";
import { heldNow } from "./freeze.ts";
import { leaseBeside, readLease } from "./operation/lease.ts";
import { asProven } from "./proven_consents.ts";
import { type EarlierRecord, findChange, liveOn, ownerOf, readRecord } from "./records.ts";
import type { Change } from "./rules/change.ts";
import { type Gate, gatesOf } from "./rules/gates.ts";
import { isLive } from "./rules/in_force.ts";
import type { Hold } from "./rules/hold.ts";
import { type Missing, missingConsents } from "./rules/missing.ts";
import { allowedInTime, overdueStep, whyOverdue } from "./rules/overdue.ts";
import { type Signer, signersOf } from "./rules/signers.ts";
import type { ChangeRecord } from "./rules/record.ts";

/** What may be asked of a change now, and what stands in its way. */
interface Standing {
  allowed_actions: string[];
  /** Whose consent is still missing. */
  missing: Missing[];
  gates: Gate[];
}

/** A change, and what is to be known before one decides on it. */
export interface ChangeView extends Change, Standing {
  audit_entries: AuditEntry[];
  signers: Signer[];
}

/** One change with its entries, what may be asked of it, and what stands in its way; 404 `change_not_found`. */
export async function changeView(deps: GovernanceDeps, changeId: string): Promise<ChangeView> {
  const { store, clock, product } = deps;
  const { intent } = product!;
  let record = await findChange(store, changeId);
  if (overdueStep(record.change, intent.policy, clock.now())) {
    await quietly(deps, expireDue(deps, [changeId]));
    record = await findChange(store, changeId);
  }
  const entries = await entriesOf(store, record.audit);
  const { allowed_actions, missing, gates } = await standingOf(deps, record, await heldNow(deps));
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
  { store }: GovernanceDeps,
  { change_id, ...query }: Omit<AuditQuery, "ids"> & { change_id?: string | undefined },
): Promise<AuditText> {
  if (change_id === undefined) return auditPage(store, query);
  return auditPage(store, { ...query, ids: (await readRecord(store, change_id))?.audit ?? [] });
}

/** How a change stands with those of its consents that count: each proof is verified anew, as an apply does it. */
export async function standingOf(
  { store, clock, product }: GovernanceDeps,
  record: ChangeRecord | EarlierRecord,
  holds: readonly Hold[],
): Promise<Standing> {
  const { intent } = product!;
  const origin = (await readHead(store))?.origin ?? "";
  const change = await asProven({ tx: store, origin, product: product! }, record);
  const { change_id } = change;
  const isApproved = change.status === "approved";
  const [conflicts, lease, mark, owner, beside] = await Promise.all([
    liveOn(store, change, change_id),
    readLease(store, change),
    store.get("guardrail_marks", change_id),
    isApproved ? ownerOf(store, change) : null,
    isApproved ? leaseBeside(store, change) : undefined,
  ]);
  const timed = { intent, now: clock.now() };
  const guardrail = mark?.value ?? ("guardrail" in record ? record.guardrail : undefined);
  return {
    allowed_actions: allowedInTime(change, timed),
    missing: isLive(change.status) ? missingConsents(change, intent) : [],
    gates: gatesOf(change, {
      intent,
      overdue: whyOverdue(change, timed),
      conflicts,
      holds,
      operation: lease && (lease.unsettled ? "unsettled" : "running"),
      beside,
      guardrail,
      owners: isApproved ? { before: targetOwnerOf(record), now: owner } : undefined,
    }),
  };
}

const targetOwnerOf = (record: ChangeRecord | EarlierRecord) =>
  "target_owner" in record ? record.target_owner : undefined;

/** A read judges what is overdue first; where that cannot be written now, the read is answered all the same. */
export async function quietly(deps: GovernanceDeps, expiry: Promise<unknown>): Promise<void> {
  await expiry.catch((error: unknown) => deps.log.warn("expiry waits", { error: String(error) }));
}
