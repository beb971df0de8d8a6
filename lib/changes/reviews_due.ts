/** Emergency approvals that await their review. */
import type { ChangesDeps } from "./deps.ts";
import { readRecordsWithExpiry } from "./expire_changes.ts";
import type { Change } from "./rules/change.ts";
import { isReviewDue } from "./rules/current_state.ts";

/** Lists the changes whose review is due, oldest first, at most `limit` of them. */
export async function listReviewsDue(deps: ChangesDeps, limit = 100): Promise<Change[]> {
  const toReview: Change[] = [];
  for (let after = ""; toReview.length < limit;) {
    const due = await deps.store.list("review_due", { after, limit, keysOnly: true });
    const ids = due.map(({ id }) => id);
    for (const { change } of await readRecordsWithExpiry(deps, ids)) if (isReviewDue(change)) toReview.push(change);
    if (due.length < limit) break;
    after = ids.at(-1)!;
  }
  return toReview.slice(0, limit);
}
