/** How many open items are overdue. Each kind has an index in the order in which its items were made. */
import type { FollowDeps } from "../follow/follower.ts";
import { reading } from "../follow/reading.ts";
import { waiting, waitingPrefix } from "../follow/waiting.ts";
import { DAY_MS, HOUR_MS } from "../kit/days.ts";
import type { Reads } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `tasks_open/<age class>:<task_id>`: when an open task was made. */
    tasks_open: string;
  }
}

/** Items that have the same time limit. */
export const AGE_CLASSES = ["pending_changes", "tasks_urgent", "tasks_high", "tasks_normal", "tasks_low"] as const;
export type AgeClass = (typeof AGE_CLASSES)[number];

/** How long an item may be open, in milliseconds. */
export const TIME_LIMITS: Readonly<Record<AgeClass, number>> = {
  pending_changes: 24 * HOUR_MS,
  tasks_urgent: 4 * HOUR_MS,
  tasks_high: 24 * HOUR_MS,
  tasks_normal: 72 * HOUR_MS,
  tasks_low: 7 * DAY_MS,
};

/** No more than so many are looked for. */
export const MOST_COUNTED = 1000;
const PAGE = 100;

/** The place of an open task among those of its class. */
export const openTaskKey = (ageClass: AgeClass, taskId: string): string => `${ageClass}:${taskId}`;

/** The ids of the items of a class that are open since before a moment, the oldest first, `most` at most. */
export async function openBefore(
  deps: FollowDeps,
  ageClass: AgeClass,
  moment: number,
  most = MOST_COUNTED,
): Promise<string[]> {
  const changes = ageClass === "pending_changes";
  const reads: Reads = changes ? await reading(deps, waiting) : deps.store;
  const collection = changes ? "waiting" : "tasks_open";
  const prefix = changes ? waitingPrefix("pending_consent") : openTaskKey(ageClass, "");
  const found: string[] = [];
  for (let after = prefix; found.length < most;) {
    // Mostly there is none.
    const limit = found.length === 0 ? 1 : Math.min(PAGE, most - found.length);
    const page = await reads.list(collection, { prefix, after, limit });
    for (const { id, value } of page) {
      if (Date.parse(value) >= moment) return found;
      found.push(id.slice(prefix.length));
    }
    if (page.length < limit) break;
    after = page.at(-1)!.id;
  }
  return found;
}

/** Changes approved before a moment and not applied since: they stand in the order of their proposals, so all are looked at. */
export async function approvedBefore(deps: FollowDeps, moment: number, most: number): Promise<string[]> {
  const read = await reading(deps, waiting);
  const prefix = waitingPrefix("approved");
  const found: string[] = [];
  for (let after = prefix, more = true; more && found.length < most;) {
    const page = await read.list("waiting", { prefix, after, limit: PAGE });
    for (const { id, value } of page) if (Date.parse(value) < moment) found.push(id.slice(prefix.length));
    after = page.at(-1)?.id ?? after;
    more = page.length === PAGE;
  }
  return found;
}

/** The overdue items of a class, as far as they are counted. */
export const overdueOf = (deps: FollowDeps, ageClass: AgeClass, most?: number): Promise<string[]> =>
  openBefore(deps, ageClass, deps.clock.now() - TIME_LIMITS[ageClass], most);
