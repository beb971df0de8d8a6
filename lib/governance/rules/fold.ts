/** What the log alone says of each change: the events folded, and held against a stored record. Pure. */
import type { Sha256 } from "../../kit/platform.ts";
import { type Change, digestOf } from "./change.ts";
import type { ChangeRecord } from "../records.ts";
import type { AuditEntry } from "../../audit/entry.ts";

/** A change as the log tells it. */
export interface Told {
  status: Change["status"];
  resolution: Change["resolution"];
  created_at: string;
  decided_at: string | null;
  applied_at: string | null;
  rolled_back_at: string | null;
  approver: string | null;
  required_approvers: number;
  approvals: number;
  /** Hash over every decision: what was decided, by whom, with which note, when. */
  decisions: string;
  digest: string;
  /** Ids of the entries about the change. */
  audit: number[];
  /** The first entry that the entries before it do not allow. */
  illegal: number | null;
}

/** The details that lib/governance writes, as far as the fold needs them. */
interface Detail {
  status?: Change["status"];
  tier?: Change["tier"];
  decision?: "approved" | NonNullable<Change["resolution"]>;
  approver?: string | null;
  note?: string | null;
  required_approvers?: number;
  digest?: string;
}

/** The change after one more entry about it; undefined when an entry comes before the proposal. */
export function foldEntry(told: Told | undefined, entry: AuditEntry, sha256: Sha256): Told | undefined {
  const detail = detailOf(entry);
  if (!told) return entry.event_type === "change_proposed" ? proposed(entry, detail) : undefined;
  const next = { ...told, audit: [...told.audit, entry.id] };
  const step = detail.digest === told.digest || detail.digest === undefined ? after(next, entry, detail, sha256) : null;
  return step ?? { ...next, illegal: told.illegal ?? entry.id };
}

function detailOf({ detail }: AuditEntry): Detail {
  try {
    const parsed: unknown = JSON.parse(detail);
    return typeof parsed === "object" && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}

function proposed({ id, timestamp }: AuditEntry, detail: Detail): Told {
  const minor = detail.tier === "minor";
  return {
    status: minor ? "approved" : "pending_consent",
    resolution: null,
    created_at: timestamp,
    decided_at: minor ? timestamp : null,
    applied_at: null,
    rolled_back_at: null,
    approver: detail.approver ?? null,
    required_approvers: detail.required_approvers ?? 1,
    approvals: 0,
    decisions: "",
    digest: detail.digest ?? "",
    audit: [id],
    illegal: detail.status === (minor ? "approved" : "pending_consent") ? null : id,
  };
}

/** The step that an entry records; null where it does not follow from what the log says so far. */
function after(told: Told, entry: AuditEntry, detail: Detail, sha256: Sha256): Told | null {
  const { timestamp: at } = entry;
  switch (entry.event_type) {
    case "consent_decision":
      return told.status === "pending_consent" ? decided(told, detail, at, sha256) : null;
    case "change_applied":
      return told.status === "approved" ? { ...told, status: "applied", applied_at: at } : null;
    case "change_rolled_back":
      return told.status === "applied" ? { ...told, status: "rolled_back", rolled_back_at: at } : null;
    case "change_apply_failed":
      return told.status === "approved" ? told : null;
    case "change_rollback_failed":
    case "change_drifted":
      return told.status === "applied" ? told : null;
    default:
      return null;
  }
}

function decided(
  told: Told,
  { decision, approver = null, note = null }: Detail,
  at: string,
  sha256: Sha256,
): Told | null {
  if (!decision) return null;
  const decisions = withDecision(told.decisions, [decision, approver, note, at], sha256);
  if (decision !== "approved")
    return { ...told, status: "denied", resolution: decision, approver, decisions, decided_at: at };
  const approvals = told.approvals + 1;
  const enough = approvals >= told.required_approvers;
  return { ...told, approvals, approver, decisions, ...(enough ? { status: "approved", decided_at: at } : {}) };
}

const withDecision = (decisions: string, decision: readonly (string | null)[], sha256: Sha256): string =>
  sha256(decisions + JSON.stringify(decision));

/** The fields in which a stored record is not what the log says; `log` when the log itself skips a step. */
export function differences(told: Told, { change, audit }: ChangeRecord, sha256: Sha256): string[] {
  const decisions = [
    ...change.approvals.map(({ approver, note, at }) => ["approved", approver, note, at]),
    ...(change.resolution === null
      ? []
      : [[change.resolution, change.approver, change.approval_note, change.decided_at]]),
  ].reduce((all, decision) => withDecision(all, decision, sha256), "");
  const lastNote = change.resolution === null ? (change.approvals.at(-1)?.note ?? null) : change.approval_note;
  const holds: Record<string, boolean> = {
    log: told.illegal === null,
    audit: audit.join() === told.audit.join(),
    revision: change.revision === told.audit.length,
    approvals: change.approvals.length === told.approvals && decisions === told.decisions,
    approval_note: change.approval_note === lastNote,
    content: digestOf(change, sha256) === told.digest,
  };
  const same = [
    "status",
    "resolution",
    "created_at",
    "decided_at",
    "applied_at",
    "rolled_back_at",
    "approver",
    "required_approvers",
    "digest",
  ] as const;
  for (const field of same) holds[field] = change[field] === told[field];
  return Object.keys(holds).filter((field) => !holds[field]);
}
