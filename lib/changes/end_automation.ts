/** Ends the automatic apply of a change, and requests the cycle that applies a change automatically. */
import type { ChangesDeps } from "./deps.ts";
import { serviceActor } from "./rules/actor.ts";
import { findAutomationTime } from "./rules/apply_when.ts";
import { POLICY_APPLY_WHEN } from "./rules/approver_name.ts";
import type { Change } from "./rules/change.ts";
import type { ChangeRecord } from "./rules/record.ts";
import type { CommandResult, Transaction } from "./transaction.ts";

/** The reason why a change no longer applies by itself: a code for programs, and a sentence without a full stop. */
export interface AutomationEnd {
  code: string;
  reason: string;
}

/** Automation ends because a consent came after the time at which the change was to be applied. */
export const CONSENT_TOO_LATE: AutomationEnd = {
  code: "consent_too_late",
  reason: "a consent came after the time at which it was to be applied",
};

/** Records that a change no longer applies by itself; from then on a person applies it. */
export const endAutomation = (
  transaction: Pick<Transaction, "execute">,
  before: ChangeRecord,
  end: AutomationEnd,
): CommandResult => transaction.execute(before, { type: "stop_automation", ...end }, serviceActor(POLICY_APPLY_WHEN));

/** Requests a cycle if a change applies automatically; a long-lived process has a timer of its own. */
export function wakeForApply({ wake, longLived }: ChangesDeps, change: Change): void {
  if (!longLived && findAutomationTime(change) !== undefined) wake?.();
}
