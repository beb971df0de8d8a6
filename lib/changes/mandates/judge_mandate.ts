/** The status of a mandate: its state, its time, and its signatures, which are verified again at every use. */
import { entryKey } from "../../audit/chain.ts";
import type { AuditEntry } from "../../audit/entry.ts";
import { isValidConsent, type SignedEntry } from "../proofs/verify_consent.ts";
import { hasGroups } from "../rules/idp_groups.ts";
import type { Intent } from "../rules/intent.ts";
import { isMandateEvent } from "../rules/mandate_record.ts";
import type { MandateRecord, MandateSignature } from "../rules/mandate_record.ts";
import { type EffectiveBounds, effectiveBounds } from "../rules/mandate_allowed.ts";
import { canSignMandate, listMissingSignatures } from "../rules/mandate_signers.ts";
import type { MissingConsent } from "../rules/missing_consents.ts";
import { normalizeName } from "../rules/names.ts";
import { findPrincipal } from "../rules/principals.ts";
import { type KnownKey, listKeys, type Signing } from "../rules/signing.ts";
import { findKpiBelowFloorNow, findUnknownKpi } from "./kpi_floor.ts";
import { createMandateFacts } from "./mandate_facts.ts";
import { type MandateSources, parseMandateEvent, readMandate } from "./read_mandate.ts";

/** Sources that a mandate is judged by. */
export interface MandateStatusSources extends MandateSources {
  origin: string;
  /** RFC 3339. */
  at: string;
  product: { intent: Intent };
  findLastLossId(): Promise<number>;
  /** Judges the mandate as of the entry with this id; absent: now. */
  until?: number | undefined;
}

/** The status of a mandate. */
export interface MandateStatus {
  /** Why the mandate approves nothing; undefined if it is active. */
  inactive?: string | undefined;
  /** Signatures that the mandate lacks. */
  missing: MissingConsent[];
  /** The effective bounds under today's policy. */
  bounds: EffectiveBounds | undefined;
}

/** Judges a mandate under today's intent. */
export async function judgeMandate(sources: MandateStatusSources, mandate: MandateRecord): Promise<MandateStatus> {
  const { at, product } = sources;
  const { policy } = product.intent;
  const bounds = policy.mandates && effectiveBounds(mandate, policy.mandates);
  const { state, suspension, ended } = mandate;
  if (ended) return { inactive: `It has ended: ${ended.reason}.`, missing: [], bounds };
  const missing = await listMissingNow(sources, mandate);
  const createStatus = (inactive?: string) => ({ inactive, missing, bounds });
  if (!bounds) return createStatus("The intent has no policy.mandates.");
  if (at >= bounds.until) return createStatus(`It ended at ${bounds.until}.`);
  if (state === "suspended") return createStatus(`It is suspended: ${suspension?.reason}.`);
  if (state === "draft") return createStatus("It is not signed yet.");
  if ((await findAcceptedLoss(sources, mandate)) > mandate.counts_from)
    return createStatus("It is suspended: loss_accepted.");
  const { agent } = mandate.bounds;
  if (findPrincipal(agent, product.intent)?.kind !== "agent")
    return createStatus(`${agent} is no agent of the intent.`);
  const unknown = findUnknownKpi(mandate.bounds.kpi_floor, product.intent);
  if (unknown !== undefined) return createStatus(`Its floor is about ${unknown}, which is no KPI of the intent.`);
  const below = await findBelowToday(sources, mandate);
  if (below) return createStatus(`${below.kpi} is ${below.value}, worse than its floor.`);
  if (missing.length > 0) return createStatus("Its signatures do not suffice under the intent of now.");
  return createStatus(at < bounds.from ? `It begins at ${bounds.from}.` : undefined);
}

/** Returns the entry of the last loss that was accepted before the moment of judgement and concerns the mandate; 0 for none. */
async function findAcceptedLoss(
  { findLastLossId, evidence, until = Infinity }: MandateStatusSources,
  mandate: MandateRecord,
): Promise<number> {
  const lastId = await findLastLossId();
  if (lastId <= until) return lastId;
  const losses = (await evidence?.entriesOfType("loss_accepted", mandate.audit[0] ?? 1)) ?? [];
  return losses.findLast(({ id }) => id <= until)?.id ?? 0;
}

/** Finds a KPI that is below its floor now by the feeds in the log, also if no suspension was recorded. */
const findBelowToday = async ({ tx, evidence, product, until }: MandateStatusSources, mandate: MandateRecord) =>
  evidence && until === undefined ? findKpiBelowFloorNow({ tx, evidence, product }, mandate) : undefined;

/** Returns true for an active mandate. */
export async function isMandateActive(sources: MandateStatusSources, mandateId: string): Promise<boolean> {
  const mandate = await readMandate(sources, mandateId, { until: sources.until, isNamed: true });
  return mandate !== undefined && (await judgeMandate(sources, mandate)).inactive === undefined;
}

/** Lists the signatures that a mandate lacks, or, after a suspension, those that its resumption lacks. */
async function listMissingNow(sources: MandateStatusSources, mandate: MandateRecord): Promise<MissingConsent[]> {
  const { intent } = sources.product;
  const missing = listMissingSignatures(await listSigners(sources, mandate, "mandate"), mandate.bounds, intent);
  const needsResumption = mandate.state === "suspended" || mandate.resumes.length > 0;
  if (missing.length > 0 || !needsResumption) return missing;
  return listMissingSignatures(await listSigners(sources, mandate, "mandate_resume"), mandate.bounds, intent);
}

/** Lists the people whose signatures count now. */
export async function listSigners(
  sources: MandateStatusSources,
  mandate: MandateRecord,
  decision: "mandate" | "mandate_resume",
): Promise<string[]> {
  const signatures = decision === "mandate" ? mandate.signatures : mandate.resumes;
  // After a loss, a revocation of a signature may be missing from the log: incomplete signatures are collected again.
  const isPending = decision === "mandate_resume" || mandate.state === "draft";
  const lossEntry = isPending ? await findAcceptedLoss(sources, mandate) : 0;
  const signers: string[] = [];
  for (const signature of signatures)
    if (signature.entry > lossEntry && (await isValidSignature(sources, mandate, decision, signature)))
      signers.push(signature.approver);
  return signers;
}

async function isValidSignature(
  sources: MandateStatusSources,
  mandate: MandateRecord,
  decision: "mandate" | "mandate_resume",
  { approver, entry }: MandateSignature,
): Promise<boolean> {
  const { origin, product } = sources;
  const { intent } = product;
  if (!canSignMandate(approver, mandate.bounds, intent)) return false;
  const stored = await readSignature(sources, entry);
  if (!stored || !isMandateEvent(stored.event_type)) return false;
  const { detail } = parseMandateEvent(stored);
  // The entry has the bounds and the revision that were signed; a later narrowing changed those of the mandate.
  const { bounds = mandate.bounds, note, manifest_hash = "", revision = 0, idp } = detail;
  if (!hasGroups(approver, idp, intent)) return false;
  const facts = createMandateFacts(decision, { ...mandate, bounds, revision });
  const consent = { origin, ...facts, approver, note: note ?? "", manifest_hash };
  return isSigned(consent, detail, listAttendedKeys(approver, intent.policy.signing));
}

/** Cache of valid signatures, with all their inputs: every use of a mandate verifies the same signatures. */
const verifiedSignatures = new Set<string>();
const MAX_VERIFIED_SIGNATURES = 1000;

/** Returns true if one of the keys made a signature. The same inputs are verified once. */
async function isSigned(
  consent: Parameters<typeof isValidConsent>[0],
  signed: SignedEntry,
  keys: readonly KnownKey[],
): Promise<boolean> {
  const cacheKey = JSON.stringify([consent, signed.statement, signed.proof, keys]);
  if (verifiedSignatures.has(cacheKey)) return true;
  const isValid = await isValidConsent(consent, signed, {
    signedOnly: true,
    keys: { [normalizeName(consent.approver)]: keys },
  });
  if (isValid && verifiedSignatures.size === MAX_VERIFIED_SIGNATURES) verifiedSignatures.clear();
  if (isValid) verifiedSignatures.add(cacheKey);
  return isValid;
}

/** Reads the entry of a signature; an entry that this transaction wrote is only in the transaction. */
async function readSignature({ tx, evidence }: MandateStatusSources, id: number): Promise<AuditEntry | undefined> {
  return (await evidence?.entry(id)) ?? (await tx.getMany("audit", [entryKey(id)]))[0]?.value;
}

/** Lists the keys of a person that need their owner's presence. */
const listAttendedKeys = (name: string, signing: Signing): readonly KnownKey[] =>
  listKeys(name, signing).filter((key) => key.type !== "ssh" || !key.unattended);
