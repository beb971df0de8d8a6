/** A mandate by its entries, one after another, and by the accepted losses of the log's end between them. */
import { readManifestHash, type RecordedEntry } from "./detail.ts";
import { asText, type Detail, isObject } from "./json.ts";
import { isNarrowing } from "./mandate_narrow.ts";
import { isBrake, type SigningGrounds } from "./mandate_signers.ts";
import { canonicalText } from "./mandate_statement.ts";

/** A mandate after some of its entries. */
export interface Folded {
  state: string;
  revision: number;
  bounds: Detail;
  /** The systems that its signers saw. */
  systems: unknown;
  /** Its first signature, which says when it was drafted. */
  first: RecordedEntry | undefined;
  /** The entry since which it counts: its last signature, or its last resumption. */
  countsFrom: number;
  /** Signatures that count: after a loss those of a draft start again. */
  signatures: RecordedEntry[];
  /** Signatures of the last resumption; undefined where it was never suspended. */
  resumes: RecordedEntry[] | undefined;
}

const NOT_NEXT = "an entry of its mandate does not follow from those before it";

/** A mandate before its first entry. */
export const unsigned = (): Folded => ({
  state: "draft",
  revision: 1,
  bounds: {},
  systems: undefined,
  first: undefined,
  countsFrom: 0,
  signatures: [],
  resumes: undefined,
});

/** Checks that an entry states an accepted loss of the log's end: it is about no change, and ends the consents before it. */
export const isLoss = ({ entry }: RecordedEntry): boolean => entry.eventType === "loss_accepted";

/** Takes in the next entry; returns why it does not follow. */
export function advance(mandate: Folded, one: RecordedEntry, grounds: SigningGrounds): string | undefined {
  if (isLoss(one)) return void lose(mandate);
  const { entry, detail } = one;
  const { eventType } = entry;
  const isSigning = eventType === "mandate_signed" || eventType === "mandate_resumed";
  mandate.revision += isSigning ? 0 : 1;
  if (detail["revision"] !== mandate.revision) return NOT_NEXT;
  if (eventType === "mandate_signed") return sign(mandate, one);
  if (mandate.state !== "active" && mandate.state !== "suspended") {
    const isTakenBack = eventType === "mandate_ended" && mandate.state === "draft" && mandate.first !== undefined;
    if (!isTakenBack) return NOT_NEXT;
  }
  if (eventType === "mandate_narrowed") return narrow(mandate, one, grounds);
  if (eventType === "mandate_suspended") {
    mandate.state = "suspended";
    mandate.resumes = [];
  } else if (eventType === "mandate_resumed") {
    mandate.resumes = [...(mandate.state === "suspended" ? (mandate.resumes ?? []) : []), one];
    mandate.state = detail["status"] === "active" ? "active" : "suspended";
    if (mandate.state === "active") mandate.countsFrom = entry.id;
  } else mandate.state = "ended";
  return undefined;
}

/** After a loss nobody knows who took a signature back: what lacks some starts again, and what is active is suspended. */
function lose(mandate: Folded): void {
  if (mandate.state === "draft") mandate.signatures = [];
  else if (mandate.state !== "ended") {
    mandate.state = "suspended";
    mandate.resumes = [];
  }
}

function sign(mandate: Folded, one: RecordedEntry): string | undefined {
  const { detail, entry } = one;
  const bounds = isObject(detail["bounds"]) ? detail["bounds"] : {};
  const { systems } = detail;
  const isSame = canonicalText([bounds, systems ?? null]) === canonicalText([mandate.bounds, mandate.systems ?? null]);
  if (mandate.state !== "draft" || (mandate.first && !isSame)) return NOT_NEXT;
  mandate.first ??= one;
  Object.assign(mandate, { bounds, systems });
  mandate.signatures.push(one);
  if (detail["status"] === "active") {
    mandate.state = "active";
    mandate.countsFrom = entry.id;
  }
  return undefined;
}

function narrow(mandate: Folded, one: RecordedEntry, grounds: SigningGrounds): string | undefined {
  const { narrow } = one.detail;
  const intent = grounds.intents.get(readManifestHash(one.detail));
  if (!isNarrowing(mandate.bounds, narrow, intent?.directions)) return "a narrowing of its mandate makes a bound wider";
  if (!isBrake(one, mandate.bounds, grounds))
    return "a narrowing of its mandate is not signed by one who may sign the mandate";
  mandate.bounds = { ...mandate.bounds, ...narrow };
  if (mandate.state === "suspended") mandate.resumes = [];
  return undefined;
}

/** The names of the systems that the signers of a mandate saw. */
export const listSystems = ({ systems }: Folded): unknown[] =>
  Array.isArray(systems) ? systems.flatMap((one) => (isObject(one) ? (asText(one["name"]) ?? []) : [])) : [];
