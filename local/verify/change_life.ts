/** Verifies the life of a change by its entries: the order of its steps, and the consents that each step needed. */
import type { Finding } from "./chain.ts";
import { readManifestHash, type RecordedEntry } from "./entry_detail.ts";
import { type Intent, isMinor, canDecide, canProposeMinor } from "./intent.ts";
import { type JsonObject, isIntegerAtLeast, stringOrUndefined } from "./json.ts";
import { isLoss } from "./mandate_state.ts";
import { MANDATE_DECISIONS } from "./mandate_statement.ts";
import { isMandateConsent, type MandateEvidence, findMandateProblem } from "./mandates.ts";
import { type KeysByName, normalizeName } from "./policy.ts";

/** Adds a finding; `entry`: null where it is about the complete file. */
export type AddFinding = (entry: number | null, rule: Finding["rule"], message: string) => void;

/** Evidence for the consents of a change. */
export interface ConsentEvidence extends MandateEvidence {
  /** Ids of entries that had to be signed and are not, or not validly. */
  unsigned: ReadonlySet<number>;
  /** Keys that signatures are verified with instead of those of the intents; a key that the intent lists is still needed. */
  trustedKeys: KeysByName | undefined;
}

const TIERS: readonly unknown[] = ["minor", "standard", "major"];

/** Status before and after each operation, by event type. */
const OPERATIONS: ReadonlyMap<string, { from: string; to: string }> = new Map([
  ["change_applied", { from: "approved", to: "applied" }],
  ["change_rolled_back", { from: "applied", to: "rolled_back" }],
  ["value_restored", { from: "applied", to: "applied" }],
  ["stage_advanced", { from: "applied", to: "applied" }],
  ["stage_held", { from: "applied", to: "applied" }],
  ["stage_resumed", { from: "applied", to: "applied" }],
  ["stage_stopped", { from: "applied", to: "applied" }],
]);

/** Returns the status after each entry. Adds a finding where a step does not follow from those before it, as after an omitted entry. */
export function deriveStatuses(life: readonly RecordedEntry[], tier: unknown, addFinding: AddFinding): string[] {
  let status = "";
  const isRollout = life[0]?.detail["stages"] !== undefined;
  return life.map((recorded, index) => {
    const [needed, next] = findTransition(recorded, status, { tier, isRollout });
    // The caller checks separately that the first entry is the proposal.
    if (index > 0 && needed !== status)
      addFinding(
        recorded.entry.id,
        "form",
        `the change must be ${needed || "new"} before this entry, but the earlier entries make it ${status}`,
      );
    if (next === undefined)
      addFinding(recorded.entry.id, "form", "its status does not say whether it approves the change");
    return (status = next ?? status);
  });
}

/** Returns the status that an entry needs, and the one that follows; undefined where the entry does not state that. */
function findTransition(
  { entry, detail }: RecordedEntry,
  status: string,
  { tier, isRollout }: { tier: unknown; isRollout: boolean },
): [needed: string, next: string | undefined] {
  const { eventType } = entry;
  if (eventType === "change_proposed") return ["", tier === "minor" ? "approved" : "pending_consent"];
  if (eventType === "consent_decision") {
    const { from, decision, status: statedStatus } = detail;
    // A further consent during a rollout leaves the change applied.
    if (isRollout && from === "applied" && decision === "approved")
      return [from, statedStatus === from ? from : undefined];
    // Any other decision with a `from` is on an approved change.
    const needed = from === undefined ? "pending_consent" : "approved";
    if (decision !== "approved") return [needed, "denied"];
    // A consent completes the quorum, or leaves the change pending; it never makes an approved change pending again.
    const leavesPending = statedStatus === "pending_consent" && needed === "pending_consent";
    return [needed, statedStatus === "approved" || leavesPending ? statedStatus : undefined];
  }
  const operation = OPERATIONS.get(eventType) ?? { from: status, to: status };
  return [operation.from, operation.to];
}

/** Requires the quorums of the intents at each step; owners are not checked. The number that an entry states can only raise a quorum. */
export function requireConsents(
  life: readonly RecordedEntry[],
  statuses: readonly string[],
  evidence: ConsentEvidence,
  addFinding: AddFinding,
): void {
  const [first] = life;
  if (!first) return;
  const { content, isErased, intents, signed } = evidence;
  const { tier } = content;
  if (!TIERS.includes(tier)) addFinding(null, "content", "the tier of the content is not minor, standard or major");
  const claimed = first.detail["required_approvers"];
  if (claimed !== undefined && !isIntegerAtLeast(claimed, 0))
    addFinding(first.entry.id, "quorum", "its required_approvers is not a whole number");
  const proposalIntent = intents.get(readManifestHash(first.detail));
  if (tier === "minor" && proposalIntent) {
    // The `proposer_kind` in the log proves nothing: the kind follows from the names and the intent.
    const proposers = [content["proposer"], first.detail["proposer"]].map(stringOrUndefined);
    const canBeMinor = proposers.every(
      (name) => name === undefined || canProposeMinor(normalizeName(name), proposalIntent),
    );
    if (!canBeMinor || !isMinor(content, isErased, proposalIntent))
      addFinding(first.entry.id, "quorum", "its tier is minor, but its intent requires consent for such a change");
    if (!isProposerKnown(first, proposalIntent, signed))
      addFinding(first.entry.id, "quorum", "its tier is minor, but its proposer is not authenticated");
  }
  for (const [index, step] of life.entries()) {
    const problem = findMissingConsents(life.slice(0, index + 1), statuses[index - 1] ?? "", step, evidence);
    if (problem === undefined) continue;
    addFinding(step.entry.id, "quorum", problem);
    // Later steps lack the same consents.
    return;
  }
}

/** Values of `authenticated` where a proxy vouched for the name. */
const PROXY_METHODS: ReadonlySet<unknown> = new Set(["proxy", "jwt"]);

/** Checks that a signature, a proxy or an agent's secret vouches for the proposer; always true if the intent has no principals. */
function isProposerKnown({ entry, detail }: RecordedEntry, intent: Intent, signed: ConsentEvidence["signed"]): boolean {
  if (intent.keys.size === 0) return true;
  const proposer = stringOrUndefined(detail["proposer"]);
  if (proposer === undefined) return false;
  if (signed.has(entry.id) || PROXY_METHODS.has(detail["authenticated"])) return true;
  return detail["authenticated"] === "agent" && intent.agents.has(normalizeName(proposer));
}

/** Explains which consents a step lacks; undefined where it lacks none, or needs none. */
function findMissingConsents(
  life: readonly RecordedEntry[],
  statusBefore: string,
  step: RecordedEntry,
  evidence: ConsentEvidence,
): string | undefined {
  const { detail, entry } = step;
  if (entry.eventType === "change_applied") return findMissingAtApply(life, step, evidence);
  const isConsent = entry.eventType === "consent_decision" && detail["decision"] === "approved";
  if (!isConsent || detail["status"] !== "approved") return undefined;
  const isEmergency = detail["emergency"] === true;
  // A further consent approves nothing, except the one that completes an emergency, which states `review_hours`.
  const completesEmergency = isEmergency && detail["review_hours"] !== undefined;
  if (statusBefore === "approved" && !completesEmergency) return undefined;
  if (isMandateConsent(step)) {
    const problem = findMandateProblem(step, step, evidence);
    return problem === undefined ? undefined : `it was approved by a mandate: ${problem}`;
  }
  const { count, needed } = countConsents(life, isEmergency, step, evidence);
  const purpose = isEmergency ? " for an emergency" : "";
  return count >= needed ? undefined : `it was approved with ${count} of ${needed} consents${purpose}`;
}

/** Explains which consents an apply lacks: ordinary or emergency ones, or else that of a mandate. */
function findMissingAtApply(
  life: readonly RecordedEntry[],
  step: RecordedEntry,
  evidence: ConsentEvidence,
): string | undefined {
  const ordinary = countConsents(life, false, step, evidence);
  const emergency = countConsents(life, true, step, evidence);
  if (ordinary.count >= ordinary.needed || emergency.count >= emergency.needed) return undefined;
  const mandated = life.slice(life.findLastIndex(isLoss) + 1).find(isMandateConsent);
  if (!mandated) return `it was applied with ${ordinary.count} of ${ordinary.needed} consents`;
  const problem = findMandateProblem(mandated, step, evidence);
  return problem === undefined ? undefined : `it was applied by a mandate: ${problem}`;
}

/** Counts the people whose ordinary or emergency consents are eligible at a step, and the number that its intent needs. */
function countConsents(
  life: readonly RecordedEntry[],
  isEmergency: boolean,
  { detail }: RecordedEntry,
  evidence: ConsentEvidence,
): { count: number; needed: number } {
  const intent = evidence.intents.get(readManifestHash(detail));
  const names = new Set<string>();
  // Consents before an accepted loss do not count: their revocations may be lost.
  for (const recorded of life.slice(life.findLastIndex(isLoss) + 1)) {
    const name = stringOrUndefined(recorded.detail["approver"]);
    const isConsent = recorded.entry.eventType === "consent_decision" && recorded.detail["decision"] === "approved";
    if (!isConsent || name === undefined || (recorded.detail["emergency"] === true) !== isEmergency) continue;
    if (!evidence.unsigned.has(recorded.entry.id) && isEligible(recorded, life[0]!, intent, evidence))
      names.add(normalizeName(name));
  }
  return {
    count: names.size,
    needed: isEmergency ? (intent?.emergency?.required ?? 1) : computeRequired(life[0]!, intent, evidence.content),
  };
}

function computeRequired({ detail }: RecordedEntry, intent: Intent | undefined, { tier }: JsonObject): number {
  if (tier === "minor") return 0;
  const claimed = isIntegerAtLeast(detail["required_approvers"], 0) ? detail["required_approvers"] : 0;
  // Without the intent, one consent is the least; an unknown tier, which is a finding, needs as many as `major`.
  const { standard, major } = intent?.required ?? { standard: 1, major: 1 };
  return Math.max(claimed, tier === "standard" ? standard : major);
}

/** Checks that a consent counts under an intent: the approver may decide, did not propose the change, and signed if required. */
function isEligible(
  recorded: RecordedEntry,
  proposal: RecordedEntry,
  intent: Intent | undefined,
  evidence: ConsentEvidence,
): boolean {
  const { content, signed, trustedKeys, intents } = evidence;
  // An intent that is not in the file cannot be checked; the verdict is then only `consistent`.
  if (!intent) return true;
  const name = normalizeName(String(recorded.detail["approver"]));
  const isEmergency = recorded.detail["emergency"] === true;
  const mayConsent = isEmergency ? (intent.emergency?.approvers ?? []).includes(name) : canDecide(name, intent);
  if (!mayConsent) return false;
  // A person who asked a model for the change counts as its proposer too.
  const proposers = [content["proposer"], proposal.detail["asked_by"]].map(stringOrUndefined);
  if (!intent.selfApproval && proposers.some((one) => one !== undefined && normalizeName(one) === name)) return false;
  // The groups that the identity provider stated, of which the intent may require some.
  const { idp } = recorded.detail;
  const groups = intent.idpGroups.get(name) ?? [];
  if (!groups.every((group) => Array.isArray(idp) && idp.includes(group))) return false;
  const keys = intent.keys.get(name) ?? [];
  const mustSign = keys.length > 0 || intent.signedOnly || (trustedKeys?.get(name) ?? []).length > 0;
  if (!mustSign) return true;
  // Without trusted keys and without the intent of the consent its signature was not verified: the recorded key is taken.
  const isChecked = trustedKeys !== undefined || intents.has(readManifestHash(recorded.detail));
  const key = isChecked ? signed.get(recorded.entry.id) : stringOrUndefined(recorded.detail["key"]);
  if (key === undefined) return false;
  // If this intent lists no key of the approver and accepts unsigned consents, only a trusted key asked for the signature.
  return keys.length === 0 ? !intent.signedOnly : keys.some(({ id }) => id === key);
}

/** Decisions that need a signature if their approver has keys, or if only signatures count. */
const SIGNED_DECISIONS: ReadonlySet<unknown> = new Set(["approved", "denied", "revoked"]);

/** Returns the person who may have to sign an entry; undefined for an entry that needs no signature. */
export function findRequiredSigner({
  entry: { eventType },
  detail,
}: RecordedEntry): { by: string | undefined } | undefined {
  if (eventType === "content_erased" || eventType === "loss_accepted")
    return { by: stringOrUndefined(detail["actor"]) };
  const actor = stringOrUndefined(detail["actor"]);
  // An advance that was ordered under an earlier intent names no actor, and nobody signed it under the present one.
  const isAdvance = eventType === "stage_advanced" && detail["reason"] === "manual" && actor !== undefined;
  if (eventType === "stage_resumed" || isAdvance) return { by: actor };
  // A mandate consents without a person.
  const isPerson = !(stringOrUndefined(detail["approver"]) ?? "").startsWith("mandate:");
  const isOfMandate = MANDATE_DECISIONS.has(eventType) && detail["reason"] !== "expired";
  const isDecision = eventType === "consent_decision" && SIGNED_DECISIONS.has(detail["decision"]) && isPerson;
  return isDecision || isOfMandate || eventType === "emergency_reviewed"
    ? { by: stringOrUndefined(detail["approver"]) }
    : undefined;
}
