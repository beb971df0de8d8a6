/** Selects the consents of a change that count: required signatures are verified again at each use. */
import { entryKey, readCurrentHead } from "../audit/chain.ts";
import { mayHaveLostConsents, removeLostConsents } from "./lost_consents.ts";
import type { ChangesDeps } from "./deps.ts";
import { isValidConsent } from "./proofs/verify_consent.ts";
import type { Approval, Change } from "./rules/change.ts";
import { type ChangeEvent, parseEvent } from "./rules/event.ts";
import { normalizeName } from "./rules/names.ts";
import type { ChangeRecord } from "./rules/record.ts";
import { requiresSignature, type Signing } from "./rules/signing.ts";
import { createChangeFacts } from "./rules/statement.ts";
import type { ProductRuntime } from "./runtime.ts";
import type { Reads } from "../store/store.ts";
import type { Transaction } from "./transaction.ts";
import type { Evidence } from "./evidence.ts";
import { isMandateActive } from "./mandates/judge_mandate.ts";
import { parseMandateName } from "./rules/mandate.ts";
import { findApprovingMandate, isMandateApproval } from "./rules/mandate_approval.ts";

/**
 * Returns the change with only the consents that count: signed with a key of the approver if the intent requires it and, while the
 * change is open, recorded after the last accepted loss of the log's end. Consents of inactive mandates are flagged.
 */
export async function filterProvenConsents(
  sources: ProofSources,
  record: Pick<ChangeRecord, "change" | "audit">,
): Promise<Change> {
  const { audit } = record;
  const { tx, origin, product, findLastLossId } = sources;
  const withoutLost = await removeLostConsents(tx, record, await findLastLossId());
  const change = await flagInactiveMandates(sources, withoutLost);
  const { signing } = product.intent.policy;
  const toProve = change.approvals.filter(
    (approval) => !isMandateApproval(approval) && requiresSignature(approval.approver, signing),
  );
  if (toProve.length === 0) return change;
  const entries = await tx.getMany("audit", audit.map(entryKey));
  const events = entries.flatMap((entry) => (entry ? [parseEvent(entry.value)] : []));
  const unproven = new Set<Approval>();
  for (const approval of toProve)
    if (!(await isProven(approval, events, change, { origin, signing }))) unproven.add(approval);
  return { ...change, approvals: change.approvals.filter((approval) => !unproven.has(approval)) };
}

/** Sources that prove consents; `until`: mandates are judged by their state at this entry. */
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

/** As `filterProvenConsents` for many changes, in their order; the entries are read in one request. */
export async function filterAllProvenConsents(
  deps: ProofDeps,
  records: readonly Pick<ChangeRecord, "change" | "audit">[],
): Promise<Change[]> {
  const product = deps.product!;
  const { signing } = product.intent.policy;
  const head = await readCurrentHead(deps);
  const loss = head?.loss?.length ?? 0;
  const toProve = records.filter(
    ({ change, audit }) =>
      mayHaveLostConsents({ change, audit }, loss) ||
      change.approvals.some((approval) => isMandateApproval(approval) || requiresSignature(approval.approver, signing)),
  );
  if (toProve.length === 0) return records.map(({ change }) => change);
  const keys = [...new Set(toProve.flatMap(({ audit }) => audit.map(entryKey)))];
  const entries = await deps.store.getMany("audit", keys);
  const entryByKey = new Map(keys.map((key, index) => [key, entries[index]]));
  // Entries of these changes come from the request above; all else, such as mandates, is read from the store.
  const tx = {
    get: deps.store.get,
    getMany: async (collection: string, ids: readonly string[]) =>
      ids.every((id) => entryByKey.has(id))
        ? ids.map((id) => entryByKey.get(id))
        : deps.store.getMany(collection as "audit", ids),
  };
  // Only mandates are judged by the time.
  const hasMandates = toProve.some(({ change }) => findApprovingMandate(change) !== undefined);
  // As in a transaction, the time is not before that of the last entry.
  const now = () => new Date(Math.max(deps.clock.now(), Date.parse(head?.at ?? "") || 0)).toISOString();
  const sources = {
    tx: tx as Pick<Reads, "get" | "getMany">,
    origin: head?.origin ?? "",
    product,
    findLastLossId: async (): Promise<number> => loss,
    at: hasMandates ? now() : "",
  };
  return Promise.all(records.map((record) => filterProvenConsents(sources, record)));
}

/** Returns true if an entry of the consent has a valid proof. Entries with the same time, name and key are the same consent. */
async function isProven(
  { approver, note, at, emergency, key }: Approval,
  events: readonly ChangeEvent[],
  change: Change,
  { origin, signing }: { origin: string; signing: Signing },
): Promise<boolean> {
  const consents = events.filter(
    ({ event_type, timestamp, detail }) =>
      event_type === "consent_decision" &&
      timestamp === at &&
      detail.key === key &&
      (detail.emergency ?? false) === (emergency ?? false) &&
      normalizeName(detail.approver ?? "") === normalizeName(approver),
  );
  const decision = emergency ? ("approve_emergency" as const) : ("approve" as const);
  for (const { detail } of consents) {
    const { manifest_hash = "", seen } = detail;
    const consent = { origin, decision, ...createChangeFacts(decision, change), seen, approver, note, manifest_hash };
    if (await isValidConsent(consent, detail, signing)) return true;
  }
  return false;
}
