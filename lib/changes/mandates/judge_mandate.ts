/** The standing of a mandate: its state, its time, and each of its signatures, verified again at every use. */
import { entryKey } from "../../audit/chain.ts";
import type { AuditEntry } from "../../audit/entry.ts";
import { isGiven, type Kept } from "../proofs/verify_consent.ts";
import { hasGroups } from "../rules/idp_groups.ts";
import type { Intent } from "../rules/intent.ts";
import { isMandateEvent } from "../rules/mandate_record.ts";
import type { MandateRecord, MandateSignature } from "../rules/mandate_record.ts";
import { type EffectiveBounds, effectiveBounds } from "../rules/mandate_allowed.ts";
import { canSignMandate, listMissingSignatures } from "../rules/mandate_signers.ts";
import type { MissingConsent } from "../rules/missing.ts";
import { normalizeName } from "../rules/names.ts";
import { findPrincipal } from "../rules/principals.ts";
import { type KnownKey, listKeys, type Signing } from "../rules/signing.ts";
import { findBelowNow, findUnknownKpi } from "./kpi_floor.ts";
import { mandateFacts } from "./mandate_facts.ts";
import { type MandateSources, mandateEvent, readMandate } from "./read_mandate.ts";

/** Sources by which a mandate is judged. */
export interface InForceSources extends MandateSources {
  origin: string;
  /** RFC 3339. */
  at: string;
  product: { intent: Intent };
  findLastLossId(): Promise<number>;
  /** The entry as of which a mandate is judged; absent: now. */
  until?: number | undefined;
}

/** How a mandate stands now. */
export interface MandateStanding {
  /** Why it approves nothing; undefined where it is active. */
  inactive?: string | undefined;
  /** Signatures that it lacks. */
  missing: MissingConsent[];
  /** The bounds that hold under the policy of now. */
  bounds: EffectiveBounds | undefined;
}

/** Judges a mandate under the intent of now. */
export async function judgeStanding(sources: InForceSources, mandate: MandateRecord): Promise<MandateStanding> {
  const { at, product } = sources;
  const { policy } = product.intent;
  const bounds = policy.mandates && effectiveBounds(mandate, policy.mandates);
  const { state, suspension, ended } = mandate;
  if (ended) return { inactive: `It has ended: ${ended.reason}.`, missing: [], bounds };
  const missing = await missingNow(sources, mandate);
  const standing = (inactive?: string) => ({ inactive, missing, bounds });
  if (!bounds) return standing("The intent has no policy.mandates.");
  if (at >= bounds.until) return standing(`It ended at ${bounds.until}.`);
  if (state === "suspended") return standing(`It is suspended: ${suspension?.reason}.`);
  if (state === "draft") return standing("It is not signed yet.");
  if ((await lossBefore(sources)) > mandate.counts_from) return standing("It is suspended: loss_accepted.");
  const { agent } = mandate.bounds;
  if (findPrincipal(agent, product.intent)?.kind !== "agent") return standing(`${agent} is no agent of the intent.`);
  const unknown = findUnknownKpi(mandate.bounds.kpi_floor, product.intent);
  if (unknown !== undefined) return standing(`Its floor is about ${unknown}, which is no KPI of the intent.`);
  const below = await findBelowToday(sources, mandate);
  if (below) return standing(`${below.kpi} is ${below.value}, worse than its floor.`);
  if (missing.length > 0) return standing("Its signatures do not suffice under the intent of now.");
  return standing(at < bounds.from ? `It begins at ${bounds.from}.` : undefined);
}

/** Returns the last accepted loss, as far as it was accepted when the mandate is judged; 0 where there is none. */
async function lossBefore({ findLastLossId, until = Infinity }: InForceSources): Promise<number> {
  const loss = await findLastLossId();
  return loss > until ? 0 : loss;
}

/** Judges by the last feeds too, whether or not a suspension was recorded: the log leads. */
const findBelowToday = async ({ tx, evidence, product, until }: InForceSources, mandate: MandateRecord) =>
  evidence && until === undefined ? findBelowNow({ tx, evidence, product }, mandate) : undefined;

/** Returns true where a mandate is active. */
export async function isInForce(sources: InForceSources, mandateId: string): Promise<boolean> {
  const mandate = await readMandate(sources, mandateId, sources.until, true);
  return mandate !== undefined && (await judgeStanding(sources, mandate)).inactive === undefined;
}

/** Lists the signatures that a mandate lacks, of its own or of the resumption that it was or is to be given. */
async function missingNow(sources: InForceSources, mandate: MandateRecord): Promise<MissingConsent[]> {
  const { intent } = sources.product;
  const lacking = listMissingSignatures(await listSigners(sources, mandate, "mandate"), mandate.bounds, intent);
  const isResumed = mandate.state === "suspended" || mandate.resumes.length > 0;
  if (lacking.length > 0 || !isResumed) return lacking;
  return listMissingSignatures(await listSigners(sources, mandate, "mandate_resume"), mandate.bounds, intent);
}

/** Lists the people whose signatures count now. */
export async function listSigners(
  sources: InForceSources,
  mandate: MandateRecord,
  decision: "mandate" | "mandate_resume",
): Promise<string[]> {
  const signatures = decision === "mandate" ? mandate.signatures : mandate.resumes;
  // After a loss nobody knows who took a signature back: what is still to be completed starts again.
  const isPending = decision === "mandate_resume" || mandate.state === "draft";
  const lost = isPending ? await lossBefore(sources) : 0;
  const signers: string[] = [];
  for (const signature of signatures)
    if (signature.entry > lost && (await counts(sources, mandate, decision, signature)))
      signers.push(signature.approver);
  return signers;
}

async function counts(
  sources: InForceSources,
  mandate: MandateRecord,
  decision: "mandate" | "mandate_resume",
  { approver, entry }: MandateSignature,
): Promise<boolean> {
  const { origin, product } = sources;
  const { intent } = product;
  if (!canSignMandate(approver, mandate.bounds, intent)) return false;
  const stored = await readSignature(sources, entry);
  if (!stored || !isMandateEvent(stored.event_type)) return false;
  const { detail } = mandateEvent(stored);
  const { bounds = mandate.bounds, note, manifest_hash = "", revision = 0, idp } = detail;
  if (!hasGroups(approver, idp, intent)) return false;
  const about = mandateFacts(decision, { ...mandate, bounds, revision });
  const given = { origin, ...about, approver, note: note ?? "", manifest_hash };
  return isSigned(given, detail, attendedKeys(approver, intent.policy.signing));
}

/** Signatures that were found valid, with all that was verified: every use of a mandate verifies the same ones. */
const valid = new Set<string>();
const MAX_VALID = 1000;

/** Returns whether one of the keys made a signature. The same bytes are verified once. */
async function isSigned(given: Parameters<typeof isGiven>[0], kept: Kept, own: readonly KnownKey[]): Promise<boolean> {
  const verified = JSON.stringify([given, kept.statement, kept.proof, own]);
  if (valid.has(verified)) return true;
  const found = await isGiven(given, kept, { only: true, keys: { [normalizeName(given.approver)]: own } });
  if (found && valid.size === MAX_VALID) valid.clear();
  if (found) valid.add(verified);
  return found;
}

/** Reads the entry of a signature: one that this transaction wrote is in no evidence yet. */
async function readSignature({ tx, evidence }: InForceSources, id: number): Promise<AuditEntry | undefined> {
  return (await evidence?.entry(id)) ?? (await tx.getMany("audit", [entryKey(id)]))[0]?.value;
}

/** Lists the keys of a person that need their owner's presence. */
const attendedKeys = (name: string, signing: Signing): readonly KnownKey[] =>
  listKeys(name, signing).filter((key) => key.type !== "ssh" || !key.unattended);
