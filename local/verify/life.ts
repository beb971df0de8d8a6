/** The life of a change by its entries: which step follows which, and whether each had the consent that it needed. */
import type { Finding } from "./chain.ts";
import { readManifestHash, type RecordedEntry } from "./detail.ts";
import { type Intent, isMinor, mayDecide, mayProposeMinor } from "./intent.ts";
import { type Detail, isWhole, asText } from "./json.ts";
import { isLoss } from "./mandate_fold.ts";
import { MANDATE_DECISIONS } from "./mandate_statement.ts";
import { isByMandate, type MandateGrounds, whyNotMandated } from "./mandates.ts";
import { type Policy, sameName } from "./policy.ts";

/** Takes what is not valid. */
export type Found = (entry: number | null, rule: Finding["rule"], message: string) => void;

/** Evidence by which the consents of a change are judged. */
export interface Grounds extends MandateGrounds {
  /** Entries that had to be signed and are not, or not validly. */
  unsigned: ReadonlySet<number>;
  /** Whose keys count instead of those of the intents. */
  people: Policy | undefined;
}

const TIERS: readonly unknown[] = ["minor", "standard", "major"];

const OPERATIONS: ReadonlyMap<string, { from: string; to: string }> = new Map([
  ["change_applied", { from: "approved", to: "applied" }],
  ["change_rolled_back", { from: "applied", to: "rolled_back" }],
  ["value_restored", { from: "applied", to: "applied" }],
  ["stage_advanced", { from: "applied", to: "applied" }],
  ["stage_held", { from: "applied", to: "applied" }],
  ["stage_resumed", { from: "applied", to: "applied" }],
  ["stage_stopped", { from: "applied", to: "applied" }],
]);

/** Returns the status after each entry; each step must follow from those before it, so that none that decides is left out. */
export function deriveStatuses(life: readonly RecordedEntry[], tier: unknown, found: Found): string[] {
  let status = "";
  return life.map((recorded, index) => {
    const [needed, next] = stepOf(recorded, status, tier);
    if (index > 0 && needed !== status)
      found(
        recorded.entry.id,
        "form",
        `the change must be ${needed || "new"} before it, and by the entries in this file it is ${status}`,
      );
    if (next === undefined) found(recorded.entry.id, "form", "it does not say whether the change is approved by it");
    return (status = next ?? status);
  });
}

/** The status before an entry, and the one after it; undefined where the entry does not say. */
function stepOf(
  { entry, detail }: RecordedEntry,
  status: string,
  tier: unknown,
): [needed: string, next: string | undefined] {
  const { eventType } = entry;
  if (eventType === "change_proposed") return ["", tier === "minor" ? "approved" : "pending_consent"];
  if (eventType === "consent_decision") {
    const needed = detail["from"] === undefined ? "pending_consent" : "approved";
    if (detail["decision"] !== "approved") return [needed, "denied"];
    const said = detail["status"];
    const next = said === "approved" || (said === "pending_consent" && needed === said) ? said : undefined;
    return [needed, next];
  }
  const operation = OPERATIONS.get(eventType) ?? { from: status, to: status };
  return [operation.from, operation.to];
}

/** Requires the consents that the intents ask for, at each step that needs them, whatever the entries say of their number. */
export function requireConsents(
  life: readonly RecordedEntry[],
  statuses: readonly string[],
  grounds: Grounds,
  found: Found,
): void {
  const [first] = life;
  if (!first) return;
  const { content, isErased, intents, signed } = grounds;
  const { tier } = content;
  if (!TIERS.includes(tier)) found(null, "content", "its tier is none of minor, standard and major");
  const claimed = first.detail["required_approvers"];
  if (claimed !== undefined && !isWhole(claimed, 0))
    found(first.entry.id, "quorum", "its number of required approvers is no whole number");
  const ofProposal = intents.get(readManifestHash(first.detail));
  if (tier === "minor" && ofProposal) {
    // The log's proposer_kind is no evidence: the kind follows from the names and the intent.
    const proposers = [content["proposer"], first.detail["proposer"]].map(asText);
    const isFree = proposers.every((name) => name === undefined || mayProposeMinor(sameName(name), ofProposal));
    if (!isFree || !isMinor(content, isErased, ofProposal))
      found(first.entry.id, "quorum", "it is minor, and its intent lets no such change pass without consent");
    if (!isProposerKnown(first, ofProposal, signed))
      found(first.entry.id, "quorum", "it is minor, and nothing but the request says who proposed it");
  }
  for (const [index, step] of life.entries()) {
    const why = whyTooFew(life.slice(0, index + 1), statuses[index - 1] ?? "", step, grounds);
    if (why === undefined) continue;
    found(step.entry.id, "quorum", why);
    return;
  }
}

/** Ways in which a proxy vouches for a name. */
const BY_PROXY: ReadonlySet<unknown> = new Set(["proxy", "jwt"]);

/** Checks that a signature, a proxy or an agent's secret vouches for a named proposer, where the intent has principals. */
function isProposerKnown({ entry, detail }: RecordedEntry, intent: Intent, signed: Grounds["signed"]): boolean {
  if (intent.keys.size === 0) return true;
  const proposer = asText(detail["proposer"]);
  if (proposer === undefined) return false;
  if (signed.has(entry.id) || BY_PROXY.has(detail["authenticated"])) return true;
  return detail["authenticated"] === "agent" && intent.agents.has(sameName(proposer));
}

/** Explains which consents a step lacks, if it lacks any; `before`: the status before it. */
function whyTooFew(
  life: readonly RecordedEntry[],
  before: string,
  step: RecordedEntry,
  grounds: Grounds,
): string | undefined {
  const { detail, entry } = step;
  const isApplied = entry.eventType === "change_applied";
  const isApproval = entry.eventType === "consent_decision" && detail["decision"] === "approved";
  const isUrgent = detail["emergency"] === true;
  if (!isApplied && !(isApproval && detail["status"] === "approved")) return undefined;
  if (isApproval && before === "approved" && !(isUrgent && detail["review_hours"] !== undefined)) return undefined;
  if (isApproval && isByMandate(step)) {
    const why = whyNotMandated(step, step, grounds);
    return why === undefined ? undefined : `it was approved by a mandate: ${why}`;
  }
  const ordinary = countOf(life, false, step, grounds);
  const urgent = countOf(life, true, step, grounds);
  if (isApplied) {
    if (ordinary.given >= ordinary.needed || urgent.given >= urgent.needed) return undefined;
    const mandated = life.slice(life.findLastIndex(isLoss) + 1).find(isByMandate);
    const why = mandated && whyNotMandated(mandated, step, grounds);
    if (mandated) return why === undefined ? undefined : `it was applied by a mandate: ${why}`;
    return `it was applied with ${ordinary.given} of ${ordinary.needed} consents`;
  }
  const { given, needed } = isUrgent ? urgent : ordinary;
  return given >= needed
    ? undefined
    : `it was approved with ${given} of ${needed} consents${isUrgent ? " for an emergency" : ""}`;
}

/** The consents of one kind that are eligible at a step, by name, and how many its intent asks for. */
function countOf(
  life: readonly RecordedEntry[],
  isUrgent: boolean,
  { detail }: RecordedEntry,
  grounds: Grounds,
): { given: number; needed: number } {
  const intent = grounds.intents.get(readManifestHash(detail));
  const names = new Set<string>();
  // A revocation of an earlier consent may be among what was lost.
  for (const recorded of life.slice(life.findLastIndex(isLoss) + 1)) {
    const name = asText(recorded.detail["approver"]);
    const isConsent = recorded.entry.eventType === "consent_decision" && recorded.detail["decision"] === "approved";
    if (!isConsent || name === undefined || (recorded.detail["emergency"] === true) !== isUrgent) continue;
    if (!grounds.unsigned.has(recorded.entry.id) && isEligible(recorded, life[0]!, intent, grounds))
      names.add(sameName(name));
  }
  return {
    given: names.size,
    needed: isUrgent ? (intent?.emergency?.required ?? 1) : needed(life[0]!, intent, grounds.content),
  };
}

function needed({ detail }: RecordedEntry, intent: Intent | undefined, { tier }: Detail): number {
  if (tier === "minor") return 0;
  const claimed = isWhole(detail["required_approvers"], 0) ? detail["required_approvers"] : 0;
  const { standard, major } = intent?.required ?? { standard: 1, major: 1 };
  return Math.max(claimed, tier === "standard" ? standard : major);
}

/** Checks that a consent counts under an intent: its name may give it, did not propose the change, and signed where it must. */
function isEligible(
  recorded: RecordedEntry,
  proposal: RecordedEntry,
  intent: Intent | undefined,
  grounds: Grounds,
): boolean {
  const { content, signed, people, intents } = grounds;
  if (!intent) return true;
  const name = sameName(String(recorded.detail["approver"]));
  const isUrgent = recorded.detail["emergency"] === true;
  if (!(isUrgent ? (intent.emergency?.approvers ?? []).includes(name) : mayDecide(name, intent))) return false;
  const proposers = [content["proposer"], proposal.detail["asked_by"]].map(asText);
  if (!intent.selfApproval && proposers.some((one) => one !== undefined && sameName(one) === name)) return false;
  const { idp } = recorded.detail;
  const groups = intent.idp.get(name) ?? [];
  if (!groups.every((group) => Array.isArray(idp) && idp.includes(group))) return false;
  const keys = intent.keys.get(name) ?? [];
  if (keys.length === 0 && !intent.signedOnly && (people?.get(name) ?? []).length === 0) return true;
  // A signature under an intent that is not in the file cannot be checked, which the verdict says.
  const isChecked = people !== undefined || intents.has(readManifestHash(recorded.detail));
  const key = isChecked ? signed.get(recorded.entry.id) : asText(recorded.detail["key"]);
  return key !== undefined && (keys.some(({ id }) => id === key) || (keys.length === 0 && !intent.signedOnly));
}

/** Event types that need a signature where their name has keys, or only signatures count. */
const SIGNED: ReadonlySet<unknown> = new Set(["approved", "denied", "revoked"]);

/** The name in which an entry decides what may have to be signed; undefined for an entry that does not. */
export function findSigner({ entry: { eventType }, detail }: RecordedEntry): { by: string | undefined } | undefined {
  if (eventType === "content_erased" || eventType === "loss_accepted") return { by: asText(detail["actor"]) };
  const actor = asText(detail["actor"]);
  // An advance that a person ordered under an earlier intent names nobody, and nobody signed it under this one.
  const isAdvance = eventType === "stage_advanced" && detail["reason"] === "manual" && actor !== undefined;
  if (eventType === "stage_resumed" || isAdvance) return { by: actor };
  const isPerson = !(asText(detail["approver"]) ?? "").startsWith("mandate:");
  const isOfMandate = MANDATE_DECISIONS.has(eventType) && detail["reason"] !== "expired";
  const isDecision = eventType === "consent_decision" && SIGNED.has(detail["decision"]) && isPerson;
  return isDecision || isOfMandate || eventType === "emergency_reviewed"
    ? { by: asText(detail["approver"]) }
    : undefined;
}
