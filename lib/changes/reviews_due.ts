/** Emergency approvals that await their review. */
import type { ChangesDeps } from "./deps.ts";
import { readRecordsWithExpiry } from "./expiry.ts";
import type { Change } from "./rules/change.ts";
import { isReviewDue } from "./rules/current_state.ts";

/** Returns the changes whose review is due, the oldest first, `limit` at most. */
export async function listReviewsDue(deps: ChangesDeps, limit = 100): Promise<Change[]> {
  const shown: Change[] = [];
  for (let after = ""; shown.length < limit;) {
    const due = await deps.store.list("review_due", { after, limit, keysOnly: true });
    const ids = due.map(({ id }) => id);
    for (const { change } of await readRecordsWithExpiry(deps, ids)) if (isReviewDue(change)) shown.push(change);
    if (due.length < limit) break;
    after = ids.at(-1)!;
  }
  return shown.slice(0, limit);
}
