/** The consent of a mandate in a certificate: its entries up to a step, its signatures, and whether the change lies inside. */
import { readManifestHash, type RecordedEntry } from "./detail.ts";
import { type Intent, listPlaces, matchesAny } from "./intent.ts";
import { asText, type Detail, isObject, isWhole } from "./json.ts";
import { isNarrowing } from "./mandate_narrow.ts";
import { isBrake, type SigningGrounds, whyUnsigned } from "./mandate_signers.ts";
import { canonicalText } from "./mandate_statement.ts";
import { parseMoment } from "./moment.ts";
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
  const { mandates: rule } = intent;
  if (!rule) return "its intent allows no mandate";
  for (const entries of [state.signatures, ...(state.resumes ? [state.resumes] : [])]) {
    const why = whyUnsigned(entries, state.bounds, intent, grounds);
    if (why !== undefined) return why;
  }
  const number = step === consent ? (mandate["number"] ?? 0) : undefined;
  const bound = findBreach(step, grounds, state, { rule, intent, number, systems: listSystems(own[0]!.detail) });
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

/** Facts by which a change is judged; `number`: that of a consent; undefined at an apply, which counts nothing. */
interface Circumstance {
  rule: NonNullable<Intent["mandates"]>;
  intent: Intent;
  number: unknown;
  /** The names of the systems that the signers saw. */
  systems: readonly unknown[];
}

const listSystems = ({ systems }: Detail): unknown[] =>
  Array.isArray(systems) ? systems.flatMap((one) => (isObject(one) ? (asText(one["name"]) ?? []) : [])) : [];

/** Returns the name of the first bound that a change breaks; steps need the log. */
function findBreach(
  { entry }: RecordedEntry,
  { content, isErased, proposal }: MandateGrounds,
  { bounds, signatures }: Folded,
  { rule, intent, number, systems }: Circumstance,
): string | undefined {
  const places = listPlaces(content) ?? [];
  const listed = (name: string): readonly unknown[] => (Array.isArray(bounds[name]) ? bounds[name] : []);
  const targets = listed("targets").flatMap((one) => asText(one) ?? []);
  const isIn = (name: string, value: unknown): boolean => listed(name).includes(value);
  const isCovered = ({ target }: { target: string }): boolean =>
    matchesAny(target, targets) && matchesAny(target, rule.targets);
  const [from, until] = [asText(bounds["from"]) ?? "", asText(bounds["until"]) ?? ""];
  if (sameName(asText(content["proposer"]) ?? "") !== bounds["agent"]) return "agent";
  if (!isIn("kinds", content["kind"])) return "kinds";
  if (places.length === 0 || !places.every(isCovered)) return "targets";
  if (bounds["tenants"] !== "all" && !places.every(({ tenant }) => isIn("tenants", tenant))) return "tenants";
  if (content["reversible"] !== true) return "reversible";
  if (content["risk"] !== "low" && content["risk"] !== "medium") return "risk";
  const [users, reached] = [bounds["max_affected_users"], content["affected_users"]];
  const isOfFew = isErased ? reached === null : isWhole(reached, 0) && isWhole(users, 0) && reached <= users;
  if (users !== undefined && !isOfFew) return "max_affected_users";
  const when = content["apply_when"];
  if (when !== undefined && !(when === "approved" && rule.automatic)) return "apply_when";
  if (content["stages"] !== undefined && !intent.boundsRollouts) return "stages";
  const sets: readonly unknown[] = Array.isArray(content["sets"]) ? content["sets"] : [content];
  const isStated = sets.every((one) => isObject(one) && one["value"] !== undefined);
  if (bounds["limits"] !== undefined && !isErased && !isStated) return "limits";
  const reachedPlaces: readonly unknown[] = Array.isArray(proposal["places"]) ? proposal["places"] : [];
  if (!reachedPlaces.every((one) => isObject(one) && systems.includes(one["system"]))) return "systems";
  const { timestamp } = entry;
  if (timestamp < from || timestamp >= until || !(parseMoment(timestamp) < latestOf(signatures, rule))) return "until";
  if (number === undefined) return undefined;
  const most = bounds["max_per_day"];
  const isCounted = isWhole(number, sets.length) && isWhole(most, 1) && number <= Math.min(most, rule.maxPerDay);
  return isCounted ? undefined : "max_per_day";
}

const DAY_MS = 24 * 3600 * 1000;

/** Returns the end that the policy sets, in ms since 1970; a draft is no younger than its first signature. */
function latestOf([first]: readonly RecordedEntry[], { maxDays }: Circumstance["rule"]): number {
  const [signed, drafted] = [first?.entry.timestamp, first?.detail["created_at"]].map((one) =>
    parseMoment(asText(one) ?? ""),
  ) as [number, number];
  return (drafted < signed ? drafted : signed) + maxDays * DAY_MS;
}
