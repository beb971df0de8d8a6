/** The state of a mandate, folded from its entries. Pure. */
import { canonicalJson } from "../../kit/canonical_json.ts";
import { AppError } from "../../kit/errors.ts";
import type { MandateBounds, MandateState } from "./mandate.ts";
import { type Narrowing, narrowBounds } from "./mandate_narrow.ts";

/** One signature of a mandate, or of its resumption. */
export interface MandateSignature {
  approver: string;
  /** RFC 3339: when it was recorded. */
  at: string;
  entry: number;
}

/** Why a mandate is suspended, and since when. */
export interface Suspension {
  reason: "rollback" | "contested" | "kpi_floor" | "target_drifted" | "loss_accepted";
  at: string;
  /** The change whose rollback or drift suspended it. */
  change_id?: string;
  /** The KPI that was worse than its floor. */
  kpi?: string;
  value?: number;
}

/** A system that a mandate reaches: name, address and templates. */
export type MandateSystem = object & { name: string };

/** A mandate or a draft, as stored at `mandates/<mandate_id>`. */
export interface MandateRecord {
  mandate_id: string;
  revision: number;
  state: MandateState;
  bounds: MandateBounds;
  systems: readonly MandateSystem[];
  /** RFC 3339: when the draft was made. */
  created_at: string;
  /** The draft's note. */
  note: string;
  signatures: readonly MandateSignature[];
  /** RFC 3339: when it became active; null for a draft. */
  signed_at: string | null;
  /** Id of the entry that made it valid: its last signature, or its last resumption; 0 for a draft. */
  counts_from: number;
  suspension: Suspension | null;
  /** Signatures of the current resumption, or of the last one if the mandate is active. */
  resumes: readonly MandateSignature[];
  ended: { reason: "revoked" | "expired"; at: string; approver?: string } | null;
  /** Ids of its entries, oldest first. */
  audit: readonly number[];
}

/** The fields of an entry's detail that the fold reads. */
export interface MandateDetail {
  mandate_id?: string;
  revision?: number;
  status?: MandateState;
  approver?: string | null;
  bounds?: MandateBounds;
  systems?: readonly MandateSystem[];
  created_at?: string;
  draft_note?: string;
  narrow?: Narrowing;
  manifest_hash?: string;
  note?: string | null;
  statement?: unknown;
  proof?: unknown;
  idp?: readonly string[] | undefined;
  suspension?: Omit<Suspension, "at">;
  reason?: string;
}

/** An entry about a mandate, with its detail parsed. */
export interface MandateEvent {
  id: number;
  timestamp: string;
  event_type: string;
  detail: MandateDetail;
}

export const MANDATE_EVENTS = [
  "mandate_signed",
  "mandate_narrowed",
  "mandate_suspended",
  "mandate_resumed",
  "mandate_ended",
] as const;

export const isMandateEvent = (type: string): boolean => (MANDATE_EVENTS as readonly string[]).includes(type);

/** Creates a mandate without signatures. */
export const makeDraft = (
  draft: Pick<MandateRecord, "mandate_id" | "bounds" | "systems" | "created_at" | "note">,
): MandateRecord => ({
  ...draft,
  revision: 1,
  state: "draft",
  signatures: [],
  signed_at: null,
  counts_from: 0,
  suspension: null,
  resumes: [],
  ended: null,
  audit: [],
});

/** Returns the mandate after one more event; undefined if the event is impossible in this state. */
export function evolveMandate(before: MandateRecord | undefined, event: MandateEvent): MandateRecord | undefined {
  const { id, detail, event_type } = event;
  const mandate = before ?? createFirst(event);
  if (!mandate || detail.mandate_id !== mandate.mandate_id || mandate.state === "ended") return undefined;
  // A signature is of the revision that it names, so it does not raise the revision.
  const revisionStep = event_type === "mandate_signed" || event_type === "mandate_resumed" ? 0 : 1;
  if (detail.revision !== mandate.revision + revisionStep) return undefined;
  const changes = TRANSITIONS[event_type]?.(mandate, event);
  return changes && { ...mandate, ...changes, revision: detail.revision, audit: [...mandate.audit, id] };
}

/** Folds entries, oldest first, into a mandate; undefined if an entry is impossible. */
export function foldMandate(events: readonly MandateEvent[]): MandateRecord | undefined {
  let mandate: MandateRecord | undefined;
  for (const event of events) {
    mandate = evolveMandate(mandate, event);
    if (!mandate) return undefined;
  }
  return mandate;
}

/** Creates the draft from the entry of its first signature, which contains all its fields. */
function createFirst({ event_type, detail }: MandateEvent): MandateRecord | undefined {
  const { mandate_id, bounds, systems, created_at, draft_note = "" } = detail;
  if (event_type !== "mandate_signed" || !mandate_id || !bounds || !systems || !created_at) return undefined;
  return makeDraft({ mandate_id, bounds, systems, created_at, note: draft_note });
}

type Transition = (mandate: MandateRecord, event: MandateEvent) => Partial<MandateRecord> | undefined;

const readSignature = ({ id, timestamp, detail: { approver } }: MandateEvent): MandateSignature | undefined =>
  approver ? { approver, at: timestamp, entry: id } : undefined;

const TRANSITIONS: Readonly<Record<string, Transition>> = {
  mandate_signed(mandate, event) {
    const { status, bounds, systems } = event.detail;
    const signature = readSignature(event);
    const isSameDraft =
      canonicalJson({ bounds, systems }) === canonicalJson({ bounds: mandate.bounds, systems: mandate.systems });
    if (!signature || !isSameDraft || mandate.state !== "draft" || (status !== "draft" && status !== "active"))
      return undefined;
    const signatures = [...mandate.signatures, signature];
    return status === "draft"
      ? { signatures }
      : { signatures, state: "active", signed_at: event.timestamp, counts_from: event.id };
  },
  mandate_narrowed(mandate, { detail: { narrow } }) {
    if (!narrow || !isSigned(mandate)) return undefined;
    // Signatures of a pending resumption are of the wider bounds, so they no longer count.
    const resumes = mandate.state === "active" ? mandate.resumes : [];
    try {
      return { bounds: narrowBounds(mandate.bounds, narrow), resumes };
    } catch (error) {
      if (error instanceof AppError) return undefined;
      throw error;
    }
  },
  mandate_suspended(mandate, { timestamp, detail: { suspension } }) {
    if (!suspension || mandate.state !== "active") return undefined;
    return { state: "suspended", suspension: { ...suspension, at: timestamp }, resumes: [] };
  },
  mandate_resumed(mandate, event) {
    const { status } = event.detail;
    const signature = readSignature(event);
    if (!signature || !isSigned(mandate)) return undefined;
    // An active mandate was suspended by an accepted loss, which writes no entry about mandates.
    const resumes = [...(mandate.state === "active" ? [] : mandate.resumes), signature];
    if (status === "active") return { state: "active", suspension: null, resumes, counts_from: event.id };
    if (status !== "suspended") return undefined;
    const suspensionByLoss = { reason: "loss_accepted", at: event.timestamp } as const;
    return { state: "suspended", suspension: mandate.suspension ?? suspensionByLoss, resumes };
  },
  mandate_ended(_mandate, { timestamp: at, detail: { reason, approver } }) {
    if (reason !== "revoked" && reason !== "expired") return undefined;
    return { state: "ended", ended: { reason, at, ...(approver && { approver }) } };
  },
};

const isSigned = ({ state }: MandateRecord): boolean => state === "active" || state === "suspended";
