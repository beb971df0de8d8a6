/** The consent of a mandate in a certificate: its entries up to a step, its signatures, and whether the change lies inside. */
import { readManifestHash } from "./detail.ts";
import { listPlaces, matchesAny } from "./intent.ts";
import { asText, type Detail, isObject, isWhole } from "./json.ts";
import type { RecordedEntry } from "./life.ts";
import { isNarrowing } from "./mandate_narrow.ts";
import { isBrake, type SigningGrounds, whyUnsigned } from "./mandate_signers.ts";
import { canonicalText } from "./mandate_statement.ts";
import { sameName } from "./policy.ts";

/** Checks that an entry is about a mandate. */
export const isOfMandate = ({ entry }: RecordedEntry): boolean => entry.eventType.startsWith("mandate_");

/** Checks that an entry is the consent of a mandate. */
export const isByMandate = ({ entry, detail }: RecordedEntry): boolean =>
  entry.eventType === "consent_decision" && (asText(detail["approver"]) ?? "").startsWith("mandate:");

/** Evidence by which a mandate is judged. */
export interface MandateGrounds extends SigningGrounds {
  mandates: readonly RecordedEntry[];
  content: Detail;
}

/** Explains why a mandate's consent does not count at a step; undefined where it does. */
export function whyNotMandated(
  consent: RecordedEntry,
  step: RecordedEntry,
  grounds: MandateGrounds,
): string | undefined {
  const mandate = isObject(consent.detail["mandate"]) ? consent.detail["mandate"] : {};
  const intent = grounds.intents.get(readManifestHash(step.detail));
  const own = grounds.mandates.filter(
    ({ entry, detail }) => entry.id < step.entry.id && detail["mandate_id"] === mandate["mandate_id"],
  );
  if (own.length === 0 || consent.detail["approver"] !== `mandate:${asText(mandate["mandate_id"]) ?? ""}`)
    return "the entries of its mandate are not in this file";
  const state = foldMandate(own, grounds);
  if (typeof state === "string") return state;
  if (state.state !== "active") return `its mandate was ${state.state}`;
  if (step === consent && !(isWhole(mandate["revision"], 1) && state.revision === mandate["revision"]))
    return "it names another revision of its mandate";
  if (!intent) return undefined;
  if (!intent.allowsMandates) return "its intent allows no mandate";
  for (const entries of [state.signatures, ...(state.resumes ? [state.resumes] : [])]) {
    const why = whyUnsigned(entries, state.bounds, intent, grounds);
    if (why !== undefined) return why;
  }
  const bound = findBreach(step, grounds.content, state.bounds, mandate["number"]);
  return bound === undefined ? undefined : `it lies outside its mandate: ${bound}`;
}

interface Folded {
  state: string;
  revision: number;
  bounds: Detail;
  signatures: RecordedEntry[];
  /** Signatures of the last resumption; undefined where it was never suspended. */
  resumes: RecordedEntry[] | undefined;
}

const NOT_NEXT = "an entry of its mandate does not follow from those before it";

/** Returns the mandate after its entries, or why one does not follow. */
function foldMandate(entries: readonly RecordedEntry[], grounds: SigningGrounds): Folded | string {
  const folded: Folded = { state: "draft", revision: 1, bounds: {}, signatures: [], resumes: undefined };
  let draft = "";
  for (const [index, one] of entries.entries()) {
    const { entry, detail } = one;
    const { eventType } = entry;
    const isSigning = eventType === "mandate_signed" || eventType === "mandate_resumed";
    const isOpen = folded.state === "active" || folded.state === "suspended";
    folded.revision += isSigning ? 0 : 1;
    if (!isWhole(detail["revision"], 1) || detail["revision"] !== folded.revision) return NOT_NEXT;
    if (eventType === "mandate_signed") {
      const bounds = isObject(detail["bounds"]) ? detail["bounds"] : {};
      const stated = canonicalText([bounds, detail["systems"] ?? null]);
      if (folded.state !== "draft" || (index > 0 && stated !== draft)) return NOT_NEXT;
      [folded.bounds, draft] = [bounds, stated];
      folded.signatures.push(one);
      if (detail["status"] === "active") folded.state = "active";
    } else if (!isOpen) return NOT_NEXT;
    else if (eventType === "mandate_narrowed") {
      const { narrow } = detail;
      if (!isNarrowing(folded.bounds, narrow)) return "a narrowing of its mandate makes a bound wider";
      if (!isBrake(one, folded.bounds, grounds))
        return "a narrowing of its mandate is not signed by one who may sign the mandate";
      folded.bounds = { ...folded.bounds, ...narrow };
      if (folded.state === "suspended") folded.resumes = [];
    } else if (eventType === "mandate_suspended") {
      folded.state = "suspended";
      folded.resumes = [];
    } else if (eventType === "mandate_resumed") {
      folded.resumes = [...(folded.state === "suspended" ? (folded.resumes ?? []) : []), one];
      folded.state = detail["status"] === "active" ? "active" : "suspended";
    } else folded.state = "ended";
  }
  return folded;
}

/** Returns the name of the first bound that a change breaks; values and steps need the log. */
function findBreach({ entry }: RecordedEntry, content: Detail, bounds: Detail, number: unknown): string | undefined {
  const places = listPlaces(content) ?? [];
  const listed = (name: string): readonly unknown[] => (Array.isArray(bounds[name]) ? bounds[name] : []);
  const targets = listed("targets").flatMap((one) => asText(one) ?? []);
  const isIn = (name: string, value: unknown): boolean => listed(name).includes(value);
  const users = bounds["max_affected_users"];
  const [from, until] = [asText(bounds["from"]) ?? "", asText(bounds["until"]) ?? ""];
  if (sameName(asText(content["proposer"]) ?? "") !== bounds["agent"]) return "agent";
  if (!isIn("kinds", content["kind"])) return "kinds";
  if (places.length === 0 || !places.every(({ target }) => matchesAny(target, targets))) return "targets";
  if (bounds["tenants"] !== "all" && !places.every(({ tenant }) => isIn("tenants", tenant))) return "tenants";
  if (content["reversible"] !== true) return "reversible";
  if (content["risk"] !== "low" && content["risk"] !== "medium") return "risk";
  const [reached, isBounded] = [
    content["affected_users"],
    users !== undefined && content["affected_users"] !== undefined,
  ];
  if (isBounded && !(isWhole(reached, 0) && isWhole(users, 0) && reached <= users)) return "max_affected_users";
  if (entry.timestamp < from || entry.timestamp >= until) return "until";
  const most = bounds["max_per_day"];
  return isWhole(number, 1) && isWhole(most, 1) && number <= most ? undefined : "max_per_day";
}
