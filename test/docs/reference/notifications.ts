/**
 * Occasion of each type of notification, for the table of docs/notifications.md, which
 * test/docs/reference.test.ts makes from this.
 */
import type { NotificationType } from "../../../lib/operations/notify/notification.ts";

/** Sentences of Markdown. */
export const NOTIFICATION_REFERENCE: Readonly<Record<NotificationType, string>> = {
  "change.waiting_for_consent": "A change was proposed and needs consent; again with each consent short of the quorum.",
  "change.decided":
    "It was approved, denied, withdrawn or revoked, expired or lapsed; or was minor and approved by the intent.",
  "change.expiring": "A quarter of its time to be approved or applied is left.",
  "change.review_due": "It was approved in an emergency, and must be reviewed.",
  "change.applied": "It was applied.",
  "change.apply_failed": "The apply failed; the change is still approved.",
  "change.rolled_back": "By a person or a guardrail.",
  "change.rollback_failed": "The rollback failed; the change is still applied.",
  "change.drifted":
    "Its place was changed outside Countersign, once an episode; with both values where they can be read.",
  "change.restore_contested": "Its value was restored three times within an hour, and changed each time.",
  "change.apply_blocked":
    "It no longer applies by itself: a consent came after its time, it was postponed for more than 24 hours, or its apply was rejected; a person decides.",
  "outcome.verdict": "The final verdict on a change that names a KPI, once.",
  "guardrail.tripped": "A KPI worsened by more than a guardrail allows; also when a guardrail's rollback is given up.",
  "breach.found": "The chain is broken, or stored records do not match the log; once an episode.",
};
