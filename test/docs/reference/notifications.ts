/**
 * Occasions of the types of notifications, for the table of docs/notifications.md, which
 * test/docs/reference.test.ts generates from this file.
 */
import type { NotificationType } from "../../../lib/operations/notify/notification.ts";

/** Sentences of Markdown. */
export const NOTIFICATION_REFERENCE: Readonly<Record<NotificationType, string>> = {
  "change.waiting_for_consent":
    "A change was proposed and needs consent; sent again after each consent below the quorum.",
  "change.decided":
    "A change was approved (also by the intent, if minor), denied, withdrawn or revoked, or it expired or lapsed.",
  "change.expiring": "A quarter of the time for approving or applying a change is left.",
  "change.review_due": "A change was approved in an emergency, and must be reviewed.",
  "change.applied": "A change was applied.",
  "change.apply_failed": "The apply of a change failed; it is still approved.",
  "change.rolled_back": "A change was rolled back by a person, a guardrail or a rollout.",
  "change.rollback_failed": "The rollback of a change failed; it is still applied.",
  "change.drifted":
    "Another program changed the value of an applied change. Sent once for each drift, with both values if they can be read.",
  "change.restore_contested":
    "The value of a change was restored three times within an hour, and another program changed it each time.",
  "change.apply_blocked":
    "A change no longer applies automatically, and a person decides: a consent came after the apply's time, it was postponed over 24 hours, or its apply was rejected.",
  "outcome.verdict": "A change that names a KPI has its final verdict.",
  "guardrail.tripped": "A KPI got worse than a guardrail allows, or a guardrail's rollback was abandoned.",
  "breach.found": "The chain is broken, or stored records do not match the log. Sent once for each such fault.",
};
