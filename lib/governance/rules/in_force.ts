/** What stands at a moment: a freeze, and a review that an emergency made due. Without a schema, so that a browser can load it. */
import type { Change } from "./change.ts";

/** The freeze that is in force; `now` in milliseconds since the epoch. */
export const inForce = <F extends { until: string | null }>(
  freeze: F | null | undefined,
  now: number,
): F | undefined => (freeze && (freeze.until === null || now < Date.parse(freeze.until)) ? freeze : undefined);

/** Whether an emergency consent waits for its review; where the change was closed without an apply, there is nothing to review. */
export const isReviewDue = ({ review, status }: Pick<Change, "review" | "status">): boolean =>
  review !== undefined && review.verdict === null && status !== "denied";
