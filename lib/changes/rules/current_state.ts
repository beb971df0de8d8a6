/**
 * State at a moment: the active freeze, open changes with their deadlines, and reviews that are due.
 * Without a schema, so that a browser can load it.
 */
import { HOUR_MS } from "../../kit/days.ts";
import type { Change, Status } from "./change.ts";
import type { Policy } from "./intent.ts";

/** Returns the freeze if it is active; `now` in milliseconds since the epoch. */
export const findActiveFreeze = <F extends { until: string | null }>(
  freeze: F | null | undefined,
  now: number,
): F | undefined => (freeze && (freeze.until === null || now < Date.parse(freeze.until)) ? freeze : undefined);

/**
 * Returns true if an emergency consent waits for its review. A change that was denied without an apply needs no
 * review.
 */
export const isReviewDue = ({ review, status }: Pick<Change, "review" | "status">): boolean =>
  review !== undefined && review.verdict === null && status !== "denied";

/** A change expires soon in this last part of its time. */
export const EXPIRES_SOON_SHARE = 1 / 4;

/** Returns true for an open change: one that waits for consents or for its apply. */
export const isOpenChange = (status: Status | undefined): status is "pending_consent" | "approved" =>
  status === "pending_consent" || status === "approved";

/** Returns when an open change expires, in milliseconds since the epoch; undefined without a limit, or if it is not open. */
export function findDeadline(
  { status, created_at, decided_at }: Pick<Change, "status" | "created_at" | "decided_at">,
  { consent_ttl_hours, approval_ttl_hours }: Pick<Policy, "consent_ttl_hours" | "approval_ttl_hours">,
): number | undefined {
  if (!isOpenChange(status)) return undefined;
  const hours = status === "approved" ? approval_ttl_hours : consent_ttl_hours;
  const since = status === "approved" && decided_at ? decided_at : created_at;
  return hours === undefined ? undefined : Date.parse(since) + hours * HOUR_MS;
}

/** Returns when the review of an emergency consent is due, RFC 3339; null if none is due. */
export const findReviewDue = (change: Pick<Change, "review" | "status">): string | null =>
  isReviewDue(change) ? change.review!.due_at : null;

/** Returns when an open change expires, RFC 3339; null without a limit, or if it is not open. */
export function findExpiryTime(change: Parameters<typeof findDeadline>[0], policy: Policy): string | null {
  const deadline = findDeadline(change, policy);
  return deadline === undefined ? null : new Date(deadline).toISOString();
}

/** Returns when a change expires, or else when its review is due, RFC 3339; null without either. */
export const findTimeLimit = (
  change: Parameters<typeof findDeadline>[0] & Pick<Change, "review">,
  policy: Policy,
): string | null => findExpiryTime(change, policy) ?? findReviewDue(change);
