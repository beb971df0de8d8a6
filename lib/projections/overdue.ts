/** How many open items are overdue. Each kind has an index in the order in which its items were made. */
import type { FollowDeps } from "./follower.ts";
import { reading } from "./reading.ts";
import { waiting, waitingPrefix, waitOf } from "./waiting.ts";
import { DAY_MS, HOUR_MS } from "../kit/days.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `tasks_open/<age class>:<task_id>`: when an open task was made. */
    tasks_open: string;
  }
}

/** Items that have the same time limit. */
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

/** How long an item may be open, in milliseconds. */
export const TIME_LIMITS: Readonly<Record<AgeClass, number>> = {
  pending_changes: 24 * HOUR_MS,
  approved_changes: 24 * HOUR_MS,
  tasks_urgent: 4 * HOUR_MS,
  tasks_high: 24 * HOUR_MS,
  tasks_normal: 72 * HOUR_MS,
  tasks_low: 7 * DAY_MS,
};

/** No more than so many are looked for. */
export const MOST_COUNTED = 1000;
const PAGE = 100;

/** An item that is open for long; `grave`: a change of high risk, or that cannot be undone. */
export interface Aged {
  id: string;
  grave: boolean;
}

/** The place of an open task among those of its class. */
export const openTaskKey = (ageClass: AgeClass, taskId: string): string => `${ageClass}:${taskId}`;

/** Changes that have been pending since before a moment, the oldest first, `most` at most. */
export async function pendingBefore(deps: FollowDeps, moment: number, most: number): Promise<Aged[]> {
  const { list } = await reading(deps, waiting);
  const prefix = waitingPrefix("pending_consent");
  return oldest(
    (after, limit) => list("waiting", { prefix, after: after ?? prefix, limit }),
    ({ id, value }) => ({ id: id.slice(prefix.length), ...waitOf(value) }),
    moment,
    most,
  );
}

/** Changes approved before a moment and not applied since: they stand in the order of their proposals, so `looked` are looked at. */
export async function approvedBefore(
  deps: FollowDeps,
  moment: number,
  most: number,
  looked = Infinity,
): Promise<Aged[]> {
  const read = await reading(deps, waiting);
  const prefix = waitingPrefix("approved");
  const found: Aged[] = [];
  let left = looked;
  for (let after = prefix, more = true; more && left > 0 && found.length < most; left -= LOOKED) {
    const limit = Math.min(LOOKED, left);
    const page = await read.list("waiting", { prefix, after, limit });
    for (const { id, value } of page) {
      const { since, grave } = waitOf(value);
      if (since < moment) found.push({ id: id.slice(prefix.length), grave });
    }
    after = page.at(-1)?.id ?? after;
    more = page.length === limit;
  }
  return found;
}

/** They are small, and most of them are passed over. */
const LOOKED = 500;

const tasksBefore = ({ store }: FollowDeps, ageClass: TaskClass, moment: number, most: number): Promise<Aged[]> => {
  const prefix = openTaskKey(ageClass, "");
  return oldest(
    (after, limit) => store.list("tasks_open", { prefix, after: after ?? prefix, limit }),
    ({ id, value }) => ({ id: id.slice(prefix.length), since: Date.parse(value), grave: false }),
    moment,
    most,
  );
};

/** Those of an index in the order of their age that are from before a moment. */
async function oldest<T extends { id: string }>(
  list: (after: string | undefined, limit: number) => Promise<T[]>,
  read: (row: T) => Aged & { since: number },
  moment: number,
  most: number,
): Promise<Aged[]> {
  const found: Aged[] = [];
  for (let after: string | undefined; found.length < most;) {
    // Mostly there is none.
    const limit = found.length === 0 ? 1 : Math.min(PAGE, most - found.length);
    const page = await list(after, limit);
    for (const { since, ...item } of page.map(read)) {
      if (since >= moment) return found;
      found.push(item);
    }
    if (page.length < limit) break;
    after = page.at(-1)!.id;
  }
  return found;
}

/** The overdue items of a class, as far as they are counted. */
export function overdueOf(deps: FollowDeps, ageClass: AgeClass, most = MOST_COUNTED): Promise<Aged[]> {
  const moment = deps.clock.now() - TIME_LIMITS[ageClass];
  if (ageClass === "pending_changes") return pendingBefore(deps, moment, most);
  if (ageClass === "approved_changes") return approvedBefore(deps, moment, most, MOST_COUNTED);
  return tasksBefore(deps, ageClass, moment, most);
}
