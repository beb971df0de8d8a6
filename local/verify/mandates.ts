/** The consent of a mandate in a certificate: its entries up to a step, its signatures, and whether the change lies inside. */
import { readManifestHash } from "./detail.ts";
import { type Intent, listPlaces, matchesAny, mayDecide } from "./intent.ts";
import { asText, type Detail, isObject, isWhole } from "./json.ts";
import type { RecordedEntry } from "./life.ts";
import { canonicalText } from "./mandate_statement.ts";
import { sameName } from "./policy.ts";

/** Checks that an entry is about a mandate. */
export const isOfMandate = ({ entry }: RecordedEntry): boolean => entry.eventType.startsWith("mandate_");

/** Checks that an entry is the consent of a mandate. */
export const isByMandate = ({ entry, detail }: RecordedEntry): boolean =>
  entry.eventType === "consent_decision" && (asText(detail["approver"]) ?? "").startsWith("mandate:");

/** Evidence by which a mandate is judged. */
export interface MandateGrounds {
  mandates: readonly RecordedEntry[];
  intents: ReadonlyMap<string, Intent>;
  signed: ReadonlyMap<number, string>;
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
  const counts = ({ entry, detail }: RecordedEntry): boolean => {
    const name = sameName(asText(detail["approver"]) ?? "");
    const key = grounds.signed.get(entry.id);
    if (!intent) return true;
    const isListed = (intent.keys.get(name) ?? []).some(({ id }) => id === key);
    return mayDecide(name, intent) && detail["authenticated"] === "signature" && isListed;
  };
  const state = foldMandate(own, counts);
  if (state === undefined) return "an entry of its mandate does not follow from those before it";
  if (state.state !== "active") return `its mandate was ${state.state}`;
  if (step === consent && !(isWhole(mandate["revision"], 1) && state.revision === mandate["revision"]))
    return "it names another revision of its mandate";
  if (!intent) return undefined;
  if (!intent.allowsMandates) return "its intent allows no mandate";
  const { major } = intent.required;
  for (const names of [state.signers, ...(state.resumed ? [state.resumed] : [])])
    if (names.size < major) return `its mandate has ${names.size} of ${major} signatures`;
  const bound = findBreach(consent, grounds.content, state.bounds, mandate["number"]);
  return bound === undefined ? undefined : `it lies outside its mandate: ${bound}`;
}

interface Folded {
  state: string;
  revision: number;
  bounds: Detail;
  signers: Set<string>;
  /** Signers of the last resumption; undefined where it was never suspended. */
  resumed: Set<string> | undefined;
}

function foldMandate(entries: readonly RecordedEntry[], counts: (one: RecordedEntry) => boolean): Folded | undefined {
  const folded: Folded = { state: "draft", revision: 1, bounds: {}, signers: new Set(), resumed: undefined };
  for (const [index, one] of entries.entries()) {
    const { entry, detail } = one;
    const isSigning = entry.eventType === "mandate_signed" || entry.eventType === "mandate_resumed";
    const isOpen = folded.state === "active" || folded.state === "suspended";
    folded.revision += isSigning ? 0 : 1;
    if (!isWhole(detail["revision"], 1) || detail["revision"] !== folded.revision) return undefined;
    if (entry.eventType === "mandate_signed") {
      const bounds = isObject(detail["bounds"]) ? detail["bounds"] : {};
      if (folded.state !== "draft" || (index > 0 && canonicalText(bounds) !== canonicalText(folded.bounds)))
        return undefined;
      folded.bounds = bounds;
      if (counts(one)) folded.signers.add(sameName(asText(detail["approver"]) ?? ""));
      if (detail["status"] === "active") folded.state = "active";
    } else if (!isOpen) return undefined;
    else if (entry.eventType === "mandate_narrowed")
      folded.bounds = { ...folded.bounds, ...(isObject(detail["narrow"]) ? detail["narrow"] : {}) };
    else if (entry.eventType === "mandate_suspended") {
      folded.state = "suspended";
      folded.resumed = new Set();
    } else if (entry.eventType === "mandate_resumed") {
      folded.resumed ??= new Set();
      if (counts(one)) folded.resumed.add(sameName(asText(detail["approver"]) ?? ""));
      if (detail["status"] === "active") folded.state = "active";
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
