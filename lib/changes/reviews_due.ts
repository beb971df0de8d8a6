/** The emergency consents that wait for their review. */
import type { Reads } from "../store/store.ts";
import { readRecords } from "./records.ts";
import type { Change } from "./rules/change.ts";
import { isReviewDue } from "./rules/in_force.ts";

/** Changes whose review is due, the oldest first, `limit` at most. */
export async function reviewsDue(store: Reads, limit = 100): Promise<Change[]> {
  const due = await store.list("review_due", { limit, keysOnly: true });
  const records = await readRecords(
    store,
    due.map(({ id }) => id),
  );
  return records.flatMap((record) => (record && isReviewDue(record.change) ? record.change : []));
}
