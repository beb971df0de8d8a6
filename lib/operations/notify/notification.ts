/** Types and bodies of notifications. */
import type { AuditEntry } from "../../audit/entry.ts";
import type { ActivityRow } from "../../projections/activity.ts";
import type { Change } from "../../changes/rules/change.ts";
import type { MissingConsent } from "../../changes/rules/missing_consents.ts";
import type { Outcome } from "../../changes/rules/outcome.ts";

export const NOTIFICATION_TYPES = [
  "change.waiting_for_consent",
  "change.decided",
  "change.expiring",
  "change.review_due",
  "change.applied",
  "change.apply_failed",
  "change.rolled_back",
  "change.rollback_failed",
  "change.drifted",
  "change.restore_contested",
  "change.apply_blocked",
  "outcome.verdict",
  "guardrail.tripped",
  "breach.found",
] as const;
export type NotificationType = (typeof NOTIFICATION_TYPES)[number];

/** Members of a change that are sent. */
export const SENT_FIELDS = [
  "change_id",
  "tenant_id",
  "kind",
  "target",
  "summary",
  "tier",
  "risk",
  "reversible",
  "affected_users",
  "status",
  "proposer",
  "required_approvers",
  "apply_when",
] as const satisfies readonly (keyof Change)[];

/** A webhook's body. `id` is the same for each attempt. */
export interface Notification {
  id: string;
  type: NotificationType;
  /** Time of the event. */
  timestamp: string;
  product_id: string;
  instance_id: string;
  /** One sentence for people; text of users is in quotation marks. */
  text: string;
  /** Address of the page in the console, if the service knows its own. */
  url?: string;
  data: {
    change: Pick<Change, (typeof SENT_FIELDS)[number]> | null;
    /** Consents that the change lacks now; empty once it is decided. */
    missing: MissingConsent[];
    /** Time of expiry, or of the due review; null without a limit. */
    expires_at: string | null;
    /** The entry that records the event. */
    audit_entry?: Pick<AuditEntry, "id" | "event_type" | "detail" | "current_hash">;
    outcome?: Outcome | null;
    /** A notice of the service. */
    notice?: Pick<ActivityRow, "title" | "detail">;
  };
}
