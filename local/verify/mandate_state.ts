/** Derives the state of a mandate from its entries, and from the accepted losses of the log's end between them. */
import { readManifestHash, type RecordedEntry } from "./entry_detail.ts";
import { stringOrUndefined, type JsonObject, isObject } from "./json.ts";
import { isNarrowing } from "./mandate_narrow.ts";
import { isSignedByMandateSigner, type SigningEvidence } from "./mandate_signers.ts";
import { canonicalText } from "./mandate_statement.ts";

/** A mandate after some of its entries. */
export interface MandateState {
  status: string;
  revision: number;
  bounds: JsonObject;
  /** The target systems that its signers saw. */
  systems: unknown;
  /** The entry of its first signature, which states when it was drafted. */
  first: RecordedEntry | undefined;
  /** Id of the entry that made it active: its last signature, or its last resumption. */
  countsFrom: number;
  /** Signatures that count; a loss removes those of a draft. */
  signatures: RecordedEntry[];
  /** Signatures of the last resumption; undefined where it was never suspended. */
  resumes: RecordedEntry[] | undefined;
}

const NOT_NEXT = "an entry of its mandate does not follow from the earlier entries";

/** A mandate before its first entry. */
export const emptyMandate = (): MandateState => ({
  status: "draft",
  revision: 1,
  bounds: {},
  systems: undefined,
  first: undefined,
  countsFrom: 0,
  signatures: [],
  resumes: undefined,
});

/** Checks that an entry accepts a loss of the log's end: consents before this loss do not count after it. */
export const isLoss = ({ entry }: RecordedEntry): boolean => entry.eventType === "loss_accepted";

/** Applies the next entry to a mandate; returns why it does not follow from those before it. */
export function applyEntry(
  mandate: MandateState,
  recorded: RecordedEntry,
  evidence: SigningEvidence,
): string | undefined {
  if (isLoss(recorded)) return void applyLoss(mandate);
  const { entry, detail } = recorded;
  const { eventType } = entry;
  const isSigning = eventType === "mandate_signed" || eventType === "mandate_resumed";
  // Signatures leave the bounds and the revision as they are.
  mandate.revision += isSigning ? 0 : 1;
  if (detail["revision"] !== mandate.revision) return NOT_NEXT;
  if (eventType === "mandate_signed") return applySignature(mandate, recorded);
  if (mandate.status !== "active" && mandate.status !== "suspended") {
    const isDraftRevoked = eventType === "mandate_ended" && mandate.status === "draft" && mandate.first !== undefined;
    if (!isDraftRevoked) return NOT_NEXT;
  }
  if (eventType === "mandate_narrowed") return applyNarrowing(mandate, recorded, evidence);
  if (eventType === "mandate_suspended") {
    mandate.status = "suspended";
    mandate.resumes = [];
  } else if (eventType === "mandate_resumed") {
    // An active mandate is resumed after a loss that the file omits: earlier signatures do not count then.
    mandate.resumes = [...(mandate.status === "suspended" ? (mandate.resumes ?? []) : []), recorded];
    mandate.status = detail["status"] === "active" ? "active" : "suspended";
    if (mandate.status === "active") mandate.countsFrom = entry.id;
  } else mandate.status = "ended";
  return undefined;
}

/** Removes the signatures of a draft and suspends an active mandate: a revocation may be among the lost entries. */
function applyLoss(mandate: MandateState): void {
  if (mandate.status === "draft") mandate.signatures = [];
  else if (mandate.status !== "ended") {
    mandate.status = "suspended";
    mandate.resumes = [];
  }
}

function applySignature(mandate: MandateState, recorded: RecordedEntry): string | undefined {
  const { detail, entry } = recorded;
  const bounds = isObject(detail["bounds"]) ? detail["bounds"] : {};
  const { systems } = detail;
  const isSame = canonicalText([bounds, systems ?? null]) === canonicalText([mandate.bounds, mandate.systems ?? null]);
  if (mandate.status !== "draft" || (mandate.first && !isSame)) return NOT_NEXT;
  mandate.first ??= recorded;
  Object.assign(mandate, { bounds, systems });
  mandate.signatures.push(recorded);
  if (detail["status"] === "active") {
    mandate.status = "active";
    mandate.countsFrom = entry.id;
  }
  return undefined;
}

function applyNarrowing(mandate: MandateState, recorded: RecordedEntry, evidence: SigningEvidence): string | undefined {
  const { narrow } = recorded.detail;
  const intent = evidence.intents.get(readManifestHash(recorded.detail));
  if (!isNarrowing(mandate.bounds, narrow, intent?.directions)) return "a narrowing of its mandate makes a bound wider";
  if (!isSignedByMandateSigner(recorded, mandate.bounds, evidence))
    return "a narrowing of its mandate is not signed by a person who may sign the mandate";
  mandate.bounds = { ...mandate.bounds, ...narrow };
  // Signatures of an incomplete resumption were for the former bounds.
  if (mandate.status === "suspended") mandate.resumes = [];
  return undefined;
}

/** Lists the names of the systems that the signers of a mandate saw. */
export const listSystems = ({ systems }: MandateState): unknown[] =>
  Array.isArray(systems)
    ? systems.flatMap((system) => (isObject(system) ? (stringOrUndefined(system["name"]) ?? []) : []))
    : [];
