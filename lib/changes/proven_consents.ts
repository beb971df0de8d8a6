/** Selects the consents of a change that count: required signatures are verified again at each use. */
import { entryKey, readCurrentHead } from "../audit/chain.ts";
import { mayHaveLost, removeLostConsents } from "./lost_consents.ts";
import type { ChangesDeps } from "./deps.ts";
import { isValidConsent } from "./proofs/verify_consent.ts";
import type { Approval, Change } from "./rules/change.ts";
import { type ChangeEvent, parseEvent } from "./rules/event.ts";
import { normalizeName } from "./rules/names.ts";
import type { ChangeRecord } from "./rules/record.ts";
import { requiresSignature, type Signing } from "./rules/signing.ts";
import { changeFacts } from "./rules/statement.ts";
import type { ProductRuntime } from "./runtime.ts";
import type { Reads } from "../store/store.ts";
import type { Transaction } from "./transaction.ts";
import type { Evidence } from "./evidence.ts";
import { isMandateActive } from "./mandates/judge_mandate.ts";
import { parseMandateName } from "./rules/mandate.ts";
import { findApprovingMandate, isMandateApproval } from "./rules/mandate_approval.ts";

/**
 * Returns the change with only the consents that count: given since the last accepted loss of the log's end, and signed with a key
 * of the approver if the intent requires it.
 */
export async function filterProvenConsents(
  sources: ProofSources,
  record: Pick<ChangeRecord, "change" | "audit">,
): Promise<Change> {
  const { audit } = record;
  const { tx, origin, product, findLastLossId } = sources;
  const counted = await removeLostConsents(tx, record, await findLastLossId());
  const change = await flagInactiveMandates(sources, counted);
  const { signing } = product.intent.policy;
  const signed = change.approvals.filter((one) => !isMandateApproval(one) && requiresSignature(one.approver, signing));
  if (signed.length === 0) return change;
  const entries = await tx.getMany("audit", audit.map(entryKey));
  const events = entries.flatMap((entry) => (entry ? [parseEvent(entry.value)] : []));
  const unproven = new Set<Approval>();
  for (const approval of signed)
    if (!(await isProven(approval, events, change, { origin, signing }))) unproven.add(approval);
  return { ...change, approvals: change.approvals.filter((approval) => !unproven.has(approval)) };
}

/** Sources that prove consents; `until`: mandates are judged as they stood at this entry. */
interface ProofSources extends Pick<Transaction, "origin" | "findLastLossId" | "at"> {
  tx: Pick<Reads, "get" | "getMany">;
  product: Pick<ProductRuntime, "intent">;
  evidence?: Evidence | undefined;
  until?: number | undefined;
}

/** Returns the change with consents of inactive mandates flagged as inactive. */
async function flagInactiveMandates(sources: ProofSources, change: Change): Promise<Change> {
  if (findApprovingMandate(change) === undefined) return change;
  const approvals: Approval[] = [];
  for (const approval of change.approvals) {
    const mandate = parseMandateName(approval.approver);
    const isInactive = mandate !== undefined && !(await isMandateActive(sources, mandate));
    approvals.push(isInactive ? { ...approval, inactive: true } : approval);
  }
  return { ...change, approvals };
}

/** Dependencies of proving the consents of many changes, under an intent that need not be in force. */
export interface ProofDeps extends Pick<ChangesDeps, "store" | "requestCache" | "clock"> {
  product?: Pick<ProductRuntime, "intent"> | undefined;
}

/** As `filterProvenConsents` for many changes, in their order; the entries are read together. */
export async function filterAllProvenConsents(
  deps: ProofDeps,
  records: readonly Pick<ChangeRecord, "change" | "audit">[],
): Promise<Change[]> {
  const product = deps.product!;
  const { signing } = product.intent.policy;
  const head = await readCurrentHead(deps);
  const loss = head?.loss?.length ?? 0;
  const signed = records.filter(
    ({ change, audit }) =>
      mayHaveLost({ change, audit }, loss) ||
      change.approvals.some((one) => isMandateApproval(one) || requiresSignature(one.approver, signing)),
  );
  if (signed.length === 0) return records.map(({ change }) => change);
  const keys = [...new Set(signed.flatMap(({ audit }) => audit.map(entryKey)))];
  const entries = await deps.store.getMany("audit", keys);
  const byKey = new Map(keys.map((key, index) => [key, entries[index]]));
  const tx = {
    get: deps.store.get,
    getMany: async (collection: string, ids: readonly string[]) =>
      ids.every((id) => byKey.has(id))
        ? ids.map((id) => byKey.get(id))
        : deps.store.getMany(collection as "audit", ids),
  };
  const findLastLossId = async (): Promise<number> => loss;
  const at = signed.some(({ change }) => findApprovingMandate(change) !== undefined)
    ? new Date(Math.max(deps.clock.now(), Date.parse(head?.at ?? "") || 0)).toISOString()
    : undefined;
  const read = {
    tx: tx as Pick<Reads, "get" | "getMany">,
    origin: head?.origin ?? "",
    product,
    findLastLossId,
    at: at ?? "",
  };
  return Promise.all(records.map((record) => filterProvenConsents(read, record)));
}

/** Returns true if an entry of the consent has a valid proof. Entries with the same time, name and key are the same consent. */
async function isProven(
  { approver, note, at, emergency, key }: Approval,
  events: readonly ChangeEvent[],
  change: Change,
  { origin, signing }: { origin: string; signing: Signing },
): Promise<boolean> {
  const consents = events.filter(
    ({ event_type, timestamp, detail: { approver: named = "", emergency: urgent = false, key: used } }) =>
      event_type === "consent_decision" &&
      timestamp === at &&
      used === key &&
      urgent === (emergency ?? false) &&
      normalizeName(named ?? "") === normalizeName(approver),
  );
  const decision = emergency ? ("approve_emergency" as const) : ("approve" as const);
  for (const { detail } of consents) {
    const { manifest_hash = "", seen } = detail;
    const decided = { origin, decision, ...changeFacts(decision, change), seen, approver, note, manifest_hash };
    if (await isValidConsent(decided, detail, signing)) return true;
  }
  return false;
}
