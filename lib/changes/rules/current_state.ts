/**
 * State at a moment: a freeze, a change that waits for somebody and for how long, and a review that an emergency made due.
 * Without a schema, so that a browser can load it.
 */
import { HOUR_MS } from "../../kit/days.ts";
import type { Change, Status } from "./change.ts";
import type { Policy } from "./intent.ts";

/** The freeze that is in force; `now` in milliseconds since the epoch. */
export const findActiveFreeze = <F extends { until: string | null }>(
  freeze: F | null | undefined,
  now: number,
): F | undefined => (freeze && (freeze.until === null || now < Date.parse(freeze.until)) ? freeze : undefined);

/**
 * Returns whether an emergency consent waits for its review; where the change was closed without an apply, there is nothing to
 * review.
 */
export const isReviewDue = ({ review, status }: Pick<Change, "review" | "status">): boolean =>
  review !== undefined && review.verdict === null && status !== "denied";

/** The last quarter of the time that a change has: what is in it is said to expire soon. */
export const EXPIRES_SOON_SHARE = 1 / 4;

/** Returns whether a change in this status waits for somebody: for consents, or for its apply. */
export const isLive = (status: Status | undefined): status is "pending_consent" | "approved" =>
  status === "pending_consent" || status === "approved";

/** When a waiting change's time is over, in milliseconds since the epoch; undefined where the intent sets it no limit. */
export function findDeadline(
  { status, created_at, decided_at }: Pick<Change, "status" | "created_at" | "decided_at">,
  { consent_ttl_hours, approval_ttl_hours }: Pick<Policy, "consent_ttl_hours" | "approval_ttl_hours">,
): number | undefined {
  if (!isLive(status)) return undefined;
  const hours = status === "approved" ? approval_ttl_hours : consent_ttl_hours;
  return hours === undefined
    ? undefined
    : Date.parse((status === "approved" && decided_at) || created_at) + hours * HOUR_MS;
}

/** The moment until which the review of an emergency consent is due, RFC 3339; null where no review is due. */
export const findReviewDue = (change: Pick<Change, "review" | "status">): string | null =>
  isReviewDue(change) ? change.review!.due_at : null;

/** When a waiting change's time is over, RFC 3339; null where the intent sets it no limit. */
export function findExpiryTime(change: Parameters<typeof findDeadline>[0], policy: Policy): string | null {
  const deadline = findDeadline(change, policy);
  return deadline === undefined ? null : new Date(deadline).toISOString();
}

/** When its time is over, or else its review is due, RFC 3339; null where nothing sets it a limit. */
export const findTimeLimit = (
  change: Parameters<typeof findDeadline>[0] & Pick<Change, "review">,
  policy: Policy,
): string | null => findExpiryTime(change, policy) ?? findReviewDue(change);
