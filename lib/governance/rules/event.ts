/** What entries about a change say, as far as it moves the change. */
import type { Change, Resolution, Status, Tier } from "./change.ts";

/** The event types that are about a change. */
export type ChangeEventType =
  | "change_proposed"
  | "consent_decision"
  | "change_applied"
  | "change_apply_failed"
  | "change_rolled_back"
  | "change_rollback_failed"
  | "change_drifted"
  | "emergency_reviewed";

/** An entry with its detail read. */
export interface ChangeEvent {
  id: number;
  timestamp: string;
  event_type: string;
  change_id: string;
  detail: Detail;
}

/** The members of a detail that `evolve` reads. */
export interface Detail {
  status?: Status;
  /** What the change was before, where that is not plain. */
  from?: Status;
  tier?: Tier;
  decision?: "approved" | Resolution;
  approver?: string | null;
  note?: string | null;
  required_approvers?: number;
  supersedes?: Change["supersedes"];
  digest?: string;
  kpis?: Record<string, number>;
  previous_digest?: string | null;
  target_owner?: string | null;
  emergency?: boolean;
  /** Stands in the consent with which an emergency's quorum is reached. */
  review_hours?: number;
  verdict?: NonNullable<Change["review"]>["verdict"];
}

/** Reads an entry; a detail that is no JSON object says nothing. */
export function eventOf(entry: Omit<ChangeEvent, "detail"> & { detail: string }): ChangeEvent {
  let detail: unknown;
  try {
    detail = JSON.parse(entry.detail);
  } catch {
    detail = undefined;
  }
  return { ...entry, detail: typeof detail === "object" && detail !== null ? detail : {} };
}
