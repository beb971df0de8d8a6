/** Verifies the consent of a mandate in a certificate: its entries, its signatures, and its bounds. */
import { readManifestHash, type RecordedEntry } from "./entry_detail.ts";
import { stringOrUndefined, type JsonObject, isObject } from "./json.ts";
import { applyEntry, type MandateState, isLoss, emptyMandate } from "./mandate_state.ts";
import {
  findBrokenContentBound,
  findBrokenCountBound,
  findBrokenScopeBound,
  findBrokenPolicyBound,
  isWithinPeriod,
  listSets,
} from "./mandate_bounds.ts";
import { type SigningEvidence, findMissingSignatures } from "./mandate_signers.ts";
import type { Intent } from "./intent.ts";

/** Returns true for an entry about a mandate. */
export const isMandateEntry = ({ entry }: RecordedEntry): boolean => entry.eventType.startsWith("mandate_");

/** Returns true for the consent of a mandate. */
export const isMandateConsent = ({ entry, detail }: RecordedEntry): boolean =>
  entry.eventType === "consent_decision" && (stringOrUndefined(detail["approver"]) ?? "").startsWith("mandate:");

/** Evidence for the consent of a mandate. */
export interface MandateEvidence extends SigningEvidence {
  /** Entries about mandates, and accepted losses of the log's end. */
  mandates: readonly RecordedEntry[];
  content: JsonObject;
  isErased: boolean;
  /** The detail of the change's first entry. */
  proposal: JsonObject;
}

/** Explains why the consent of a mandate does not count at a step, which is the consent itself or an apply; undefined where it counts. */
export function findMandateProblem(
  consent: RecordedEntry,
  step: RecordedEntry,
  evidence: MandateEvidence,
): string | undefined {
  const stated = isObject(consent.detail["mandate"]) ? consent.detail["mandate"] : {};
  const before = evidence.mandates
    .filter(({ entry }) => entry.id < step.entry.id)
    .sort((a, b) => a.entry.id - b.entry.id);
  const own = before.filter((one) => isLoss(one) || one.detail["mandate_id"] === stated["mandate_id"]);
  // Losses alone are no entry of the mandate.
  if (own.every(isLoss) || consent.detail["approver"] !== `mandate:${stringOrUndefined(stated["mandate_id"]) ?? ""}`)
    return "the entries of its mandate are not in this file";
  const mandate = emptyMandate();
  for (const one of own) {
    const problem = applyEntry(mandate, one, evidence);
    if (problem !== undefined) return problem;
  }
  if (mandate.status !== "active") return `its mandate was ${mandate.status}, not active`;
  // `revision` and `entry` are compared at the consent only: narrowings and resumptions after it change both.
  const isConsent = step === consent;
  if (isConsent && stated["revision"] !== mandate.revision)
    return "its mandate.revision is not the current revision of the mandate";
  if (isConsent && stated["entry"] !== mandate.countsFrom)
    return "its mandate.entry is not the entry that activated the mandate";
  const intent = evidence.intents.get(readManifestHash(step.detail));
  // An intent that is not in the file cannot be checked; the verdict is then only `consistent`.
  if (!intent) return undefined;
  return findProblemUnderIntent(step, isConsent ? stated : undefined, { evidence, mandate, intent });
}

/** Explains which signatures an active mandate lacks under an intent, or which bound a step breaks. `stated`: the `mandate` of a consent. */
function findProblemUnderIntent(
  step: RecordedEntry,
  stated: JsonObject | undefined,
  { evidence, mandate, intent }: { evidence: MandateEvidence; mandate: MandateState; intent: Intent },
): string | undefined {
  if (!intent.mandates) return "its intent does not allow mandates";
  for (const signatures of [mandate.signatures, ...(mandate.resumes ? [mandate.resumes] : [])]) {
    const problem = findMissingSignatures(signatures, mandate.bounds, intent, evidence);
    if (problem !== undefined) return problem;
  }
  const targetCount = listSets(evidence.content).length;
  const bound =
    findBrokenBound(step, evidence, mandate, intent) ??
    (stated && findBrokenCountBound(stated, targetCount, mandate, intent.mandates));
  return bound === undefined ? undefined : `it is outside the bounds of its mandate: ${bound}`;
}

/** Returns the name of the first bound that a change breaks. Bounds on steps and on open changes are not checked: they need the complete log. */
function findBrokenBound(
  { entry }: RecordedEntry,
  { content, isErased, proposal }: MandateEvidence,
  mandateState: MandateState,
  intent: Intent,
): string | undefined {
  const rule = intent.mandates!;
  return (
    findBrokenScopeBound(content, proposal, mandateState, rule) ??
    findBrokenContentBound(content, isErased, mandateState) ??
    findBrokenPolicyBound(content, rule, intent) ??
    (isWithinPeriod(entry.timestamp, mandateState, rule) ? undefined : "until")
  );
}
