/** Emergency approvals that await their review. */
import type { ChangesDeps } from "./deps.ts";
import { readRecordsAtTime } from "./expiry.ts";
import type { Change } from "./rules/change.ts";
import { isReviewDue } from "./rules/in_force.ts";

/** Returns the changes whose review is due, the oldest first, `limit` at most. */
export async function listReviewsDue(deps: ChangesDeps, limit = 100): Promise<Change[]> {
  const due = await deps.store.list("review_due", { limit, keysOnly: true });
  const records = await readRecordsAtTime(
    deps,
    due.map(({ id }) => id),
  );
  return records.map(({ change }) => change).filter(isReviewDue);
}
