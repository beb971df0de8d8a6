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

/** Checks that an entry is about a mandate. */
export const isMandateEntry = ({ entry }: RecordedEntry): boolean => entry.eventType.startsWith("mandate_");

/** Checks that an entry is the consent of a mandate. */
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

/** Explains why the consent of a mandate does not count at a step; undefined where it counts. */
export function findMandateProblem(
  consent: RecordedEntry,
  step: RecordedEntry,
  evidence: MandateEvidence,
): string | undefined {
  const mandate = isObject(consent.detail["mandate"]) ? consent.detail["mandate"] : {};
  const intent = evidence.intents.get(readManifestHash(step.detail));
  const before = evidence.mandates
    .filter(({ entry }) => entry.id < step.entry.id)
    .sort((a, b) => a.entry.id - b.entry.id);
  const own = before.filter((one) => isLoss(one) || one.detail["mandate_id"] === mandate["mandate_id"]);
  // Losses alone are no entry of the mandate.
  if (own.every(isLoss) || consent.detail["approver"] !== `mandate:${stringOrUndefined(mandate["mandate_id"]) ?? ""}`)
    return "the entries of its mandate are not in this file";
  const mandateState = emptyMandate();
  for (const one of own) {
    const problem = applyEntry(mandateState, one, evidence);
    if (problem !== undefined) return problem;
  }
  if (mandateState.status !== "active") return `its mandate was ${mandateState.status}, not active`;
  // Narrowings and resumptions after the consent change both, so an apply is not compared.
  if (step === consent && mandate["revision"] !== mandateState.revision)
    return "its mandate.revision is not the current revision of the mandate";
  if (step === consent && mandate["entry"] !== mandateState.countsFrom)
    return "its mandate.entry is not the entry that activated the mandate";
  // An intent that is not in the file cannot be checked; the verdict is then only `consistent`.
  if (!intent) return undefined;
  if (!intent.mandates) return "its intent does not allow mandates";
  for (const entries of [mandateState.signatures, ...(mandateState.resumes ? [mandateState.resumes] : [])]) {
    const problem = findMissingSignatures(entries, mandateState.bounds, intent, evidence);
    if (problem !== undefined) return problem;
  }
  const bound =
    findBrokenBound(step, evidence, mandateState, intent) ??
    (step === consent
      ? findBrokenCountBound(mandate, listSets(evidence.content).length, mandateState, intent.mandates)
      : undefined);
  return bound === undefined ? undefined : `it is outside the bounds of its mandate: ${bound}`;
}

/** Returns the name of the first bound that a change breaks. Bounds on steps and on open changes need the complete log. */
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
