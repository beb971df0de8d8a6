/** Finds and expires the changes whose deadlines have passed. */
import { readConfirmedTime } from "../changes/confirmed_time.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { expireDue } from "../changes/expire_changes.ts";
import { HOUR_MS } from "../kit/days.ts";
import { listApprovedSince, listPendingSince } from "./overdue.ts";

/** Number of overdue changes of a status after which no further page is listed. */
const MAX_OVERDUE = 2000;

/** Returns the ids of changes whose deadlines have certainly passed, by status, the oldest first. */
export async function listOverdue(deps: ChangesDeps): Promise<{ pending_consent: string[]; approved: string[] }> {
  const { consent_ttl_hours, approval_ttl_hours } = deps.product!.intent.policy;
  const isLimited = (consent_ttl_hours ?? approval_ttl_hours) !== undefined;
  // -Infinity: no time is confirmed to have passed.
  const now = isLimited ? await readConfirmedTime(deps) : -Infinity;
  if (now === -Infinity) return { pending_consent: [], approved: [] };
  const momentBefore = (hours: number) => now - hours * HOUR_MS;
  const [pending, approved] = await Promise.all([
    consent_ttl_hours === undefined ? [] : listPendingSince(deps, momentBefore(consent_ttl_hours), MAX_OVERDUE),
    approval_ttl_hours === undefined ? [] : listApprovedSince(deps, momentBefore(approval_ttl_hours), MAX_OVERDUE),
  ]);
  return { pending_consent: pending.map(({ id }) => id), approved: approved.map(({ id }) => id) };
}

/** Denies the changes whose deadlines have certainly passed, and returns how many. */
export async function expireOverdue(deps: ChangesDeps): Promise<number> {
  const { pending_consent, approved } = await listOverdue(deps);
  return expireDue(deps, [...pending_consent, ...approved]);
}
