/** The consent of a mandate in a certificate: its entries up to a step, its signatures, and whether the change lies inside. */
import { readManifestHash, type RecordedEntry } from "./detail.ts";
import { asText, type Detail, isObject } from "./json.ts";
import { advance, type Folded, isLoss, unsigned } from "./mandate_fold.ts";
import {
  findContentBreach,
  findCountBreach,
  findPlaceBreach,
  findRuleBreach,
  isInTime,
  listSets,
} from "./mandate_inside.ts";
import { type SigningGrounds, whyUnsigned } from "./mandate_signers.ts";
import type { Intent } from "./intent.ts";

/** Checks that an entry is about a mandate. */
export const isOfMandate = ({ entry }: RecordedEntry): boolean => entry.eventType.startsWith("mandate_");

/** Checks that an entry is the consent of a mandate. */
export const isByMandate = ({ entry, detail }: RecordedEntry): boolean =>
  entry.eventType === "consent_decision" && (asText(detail["approver"]) ?? "").startsWith("mandate:");

/** Evidence by which a mandate is judged. */
export interface MandateGrounds extends SigningGrounds {
  /** Entries about mandates, and accepted losses of the log's end. */
  mandates: readonly RecordedEntry[];
  content: Detail;
  isErased: boolean;
  /** The detail of the change's first entry. */
  proposal: Detail;
}

/** Explains why a mandate's consent does not count at a step; undefined where it does. */
export function whyNotMandated(
  consent: RecordedEntry,
  step: RecordedEntry,
  grounds: MandateGrounds,
): string | undefined {
  const mandate = isObject(consent.detail["mandate"]) ? consent.detail["mandate"] : {};
  const intent = grounds.intents.get(readManifestHash(step.detail));
  const before = grounds.mandates
    .filter(({ entry }) => entry.id < step.entry.id)
    .sort((a, b) => a.entry.id - b.entry.id);
  const own = before.filter((one) => isLoss(one) || one.detail["mandate_id"] === mandate["mandate_id"]);
  if (own.every(isLoss) || consent.detail["approver"] !== `mandate:${asText(mandate["mandate_id"]) ?? ""}`)
    return "the entries of its mandate are not in this file";
  const state = unsigned();
  for (const one of own) {
    const why = advance(state, one, grounds);
    if (why !== undefined) return why;
  }
  if (state.state !== "active") return `its mandate was ${state.state}`;
  if (step === consent && mandate["revision"] !== state.revision) return "it names another revision of its mandate";
  if (step === consent && mandate["entry"] !== state.countsFrom)
    return "it names another entry than that since which its mandate counts";
  if (!intent) return undefined;
  if (!intent.mandates) return "its intent allows no mandate";
  for (const entries of [state.signatures, ...(state.resumes ? [state.resumes] : [])]) {
    const why = whyUnsigned(entries, state.bounds, intent, grounds);
    if (why !== undefined) return why;
  }
  const bound =
    findBreach(step, grounds, state, intent) ??
    (step === consent ? findCountBreach(mandate, listSets(grounds.content).length, state, intent.mandates) : undefined);
  return bound === undefined ? undefined : `it lies outside its mandate: ${bound}`;
}

/** Returns the name of the first bound that a change breaks; steps and open changes need the log. */
function findBreach(
  { entry }: RecordedEntry,
  { content, isErased, proposal }: MandateGrounds,
  state: Folded,
  intent: Intent,
): string | undefined {
  const rule = intent.mandates!;
  return (
    findPlaceBreach(content, proposal, state, rule) ??
    findContentBreach(content, isErased, state) ??
    findRuleBreach(content, rule, intent) ??
    (isInTime(entry.timestamp, state, rule) ? undefined : "until")
  );
}
