/** Reads rows of the indexes by target for many targets, in as few pages as possible. */
import type { Reads, CollectionRecord, Stored } from "../store/store.ts";
import { formatTargetChangeKey, formatTargetKey } from "./records.ts";
import type { TargetKey } from "./rules/target_key.ts";
import type { Change } from "./rules/change.ts";
import { listEntries } from "./rules/list_entries.ts";

/** Collections whose ids are a formatted target key, which ends with a line break, and one more part without a line break. */
type TargetIndex = "live_by_target" | "owners" | "leases";

/** The first `limit` rows of each target, or with `reverse` the last ones; `limit` is at most the page size. */
interface RowSelection {
  limit: number;
  reverse?: boolean;
}

const PAGE_SIZE = 500;
/** Sorts after the id of any change. */
const HIGHEST_SUFFIX = "\uffff";

/** Reads the rows of these targets, by formatted target key. */
export async function readTargetIndex<V extends TargetIndex>(
  reads: Pick<Reads, "list">,
  index: V,
  targets: readonly TargetKey[],
  { limit, reverse = false }: RowSelection,
): Promise<ReadonlyMap<string, readonly Stored<CollectionRecord<V>>[]>> {
  const keys = [...new Set(targets.map(formatTargetKey))].sort();
  if (reverse) keys.reverse();
  const rowsByKey = new Map(keys.map((key) => [key, [] as Stored<CollectionRecord<V>>[]]));
  for (let next = 0; next < keys.length;) {
    const key = keys[next]!;
    const isLast = next === keys.length - 1;
    // One page may have the rows of several targets; of the last target only its own rows are needed.
    const options = isLast ? { prefix: key, limit } : { after: reverse ? key + HIGHEST_SUFFIX : key, limit: PAGE_SIZE };
    const page = await reads.list(index, { ...options, reverse });
    // The previous page may have ended within this target, so the target is read from its beginning.
    rowsByKey.set(key, []);
    for (const row of page) {
      const rows = rowsByKey.get(row.id.slice(0, row.id.lastIndexOf("\n") + 1));
      if (rows && rows.length < limit) rows.push(row);
    }
    if (isLast || page.length < options.limit) break;
    const lastId = page.at(-1)!.id;
    const isComplete = (targetKey: string): boolean => {
      if (lastId.startsWith(targetKey)) return rowsByKey.get(targetKey)!.length === limit;
      return reverse ? lastId < targetKey : lastId > targetKey;
    };
    while (next < keys.length && isComplete(keys[next]!)) next++;
  }
  return rowsByKey;
}

/** Lists the keys of a change in an index by target: one for each target that it sets. */
export const listTargetChangeKeys = (change: Change): string[] =>
  listEntries(change).map((entry) => formatTargetChangeKey({ ...entry, change_id: change.change_id }));
