/** Lists overdue items, from an index of each kind in order of creation. */
import type { ProjectionDeps } from "./projection.ts";
import { readProjection } from "./snapshot.ts";
import { waiting, waitingPrefix, parseWait } from "./waiting.ts";
import { DAY_MS, HOUR_MS } from "../kit/days.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `tasks_open/<age class>:<task_id>`: the creation of an open task. */
    tasks_open: string;
  }
}

/** Kinds of items with a time limit. */
export const AGE_CLASSES = [
  "pending_changes",
  "approved_changes",
  "tasks_urgent",
  "tasks_high",
  "tasks_normal",
  "tasks_low",
] as const;
export type AgeClass = (typeof AGE_CLASSES)[number];
type TaskClass = Exclude<AgeClass, "pending_changes" | "approved_changes">;

/** Time limits by kind; milliseconds. */
export const TIME_LIMITS: Readonly<Record<AgeClass, number>> = {
  pending_changes: 24 * HOUR_MS,
  approved_changes: 24 * HOUR_MS,
  tasks_urgent: 4 * HOUR_MS,
  tasks_high: 24 * HOUR_MS,
  tasks_normal: 72 * HOUR_MS,
  tasks_low: 7 * DAY_MS,
};

/** Overdue items of a kind are counted up to this. */
export const MAX_COUNTED = 1000;
const PAGE_SIZE = 100;

/** An overdue item; `grave`: a change of high risk, or one that cannot be undone. */
export interface AgedItem {
  id: string;
  grave: boolean;
}

/** Returns the id of an open task in its index. */
export const openTaskKey = (ageClass: AgeClass, taskId: string): string => `${ageClass}:${taskId}`;

/** Lists changes that have been pending since before a moment, oldest first. */
export async function listPendingSince(deps: ProjectionDeps, moment: number, maxItems: number): Promise<AgedItem[]> {
  const { list } = await readProjection(deps, waiting);
  const prefix = waitingPrefix("pending_consent");
  return listOldest(
    (after, limit) => list("waiting", { prefix, after: after ?? prefix, limit }),
    ({ id, value }) => ({ id: id.slice(prefix.length), ...parseWait(value) }),
    moment,
    maxItems,
  );
}

/**
 * Lists changes that were approved before a moment. The rows are in order of proposal, not of approval, so all of them are read,
 * at most `maxScanned`. Reading stops after the page that reaches `maxItems`: the list may be longer by a part of a page.
 */
export async function listApprovedSince(
  deps: ProjectionDeps,
  moment: number,
  maxItems: number,
  maxScanned = Infinity,
): Promise<AgedItem[]> {
  const read = await readProjection(deps, waiting);
  const prefix = waitingPrefix("approved");
  const items: AgedItem[] = [];
  let after = prefix;
  for (let remaining = maxScanned; remaining > 0 && items.length < maxItems; remaining -= SCAN_SIZE) {
    const limit = Math.min(SCAN_SIZE, remaining);
    const page = await read.list("waiting", { prefix, after, limit });
    for (const { id, value } of page) {
      const { since, grave } = parseWait(value);
      if (since < moment) items.push({ id: id.slice(prefix.length), grave });
    }
    if (page.length < limit) break;
    after = page.at(-1)!.id;
  }
  return items;
}

/** Rows of a page; they are small, and most do not match. */
const SCAN_SIZE = 500;

const listTasksSince = (
  { store }: ProjectionDeps,
  ageClass: TaskClass,
  moment: number,
  maxItems: number,
): Promise<AgedItem[]> => {
  const prefix = openTaskKey(ageClass, "");
  return listOldest(
    (after, limit) => store.list("tasks_open", { prefix, after: after ?? prefix, limit }),
    ({ id, value }) => ({ id: id.slice(prefix.length), since: Date.parse(value), grave: false }),
    moment,
    maxItems,
  );
};

/** Lists the items that are older than a moment, from an index in order of age. */
async function listOldest<T extends { id: string }>(
  list: (after: string | undefined, limit: number) => Promise<T[]>,
  parse: (row: T) => AgedItem & { since: number },
  moment: number,
  maxItems: number,
): Promise<AgedItem[]> {
  const items: AgedItem[] = [];
  for (let after: string | undefined; items.length < maxItems;) {
    // Usually nothing is overdue, so the first page is one row.
    const limit = items.length === 0 ? 1 : Math.min(PAGE_SIZE, maxItems - items.length);
    const page = await list(after, limit);
    for (const { since, ...item } of page.map(parse)) {
      if (since >= moment) return items;
      items.push(item);
    }
    if (page.length < limit) break;
    after = page.at(-1)!.id;
  }
  return items;
}

/** Lists the overdue items of a kind, at least `maxItems` if there are as many; of approved changes, those in the first rows. */
export function listOverdueItems(
  deps: ProjectionDeps,
  ageClass: AgeClass,
  maxItems = MAX_COUNTED,
): Promise<AgedItem[]> {
  const moment = deps.clock.now() - TIME_LIMITS[ageClass];
  if (ageClass === "pending_changes") return listPendingSince(deps, moment, maxItems);
  if (ageClass === "approved_changes") return listApprovedSince(deps, moment, maxItems, MAX_COUNTED);
  return listTasksSince(deps, ageClass, moment, maxItems);
}
