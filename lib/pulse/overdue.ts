/**
 * How many open items are overdue, without looking at all of them: `aging/<class>` counts those up to a mark, and a cycle
 * moves the mark on. A read looks only at what lies beyond it.
 */
import type { PulseDeps } from "./deps.ts";
import type { Store, Tx } from "../store/store.ts";
import { DAY_MS, HOUR_MS } from "../kit/days.ts";

declare module "../store/store.ts" {
  interface Collections {
    aging: Mark;
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

const PAGE = 100;
const READ_AT_MOST = 100;

/** Where the mark stands: `overdue` open items have ids up to `through`. */
interface Mark {
  through: string;
  overdue: number;
}

const UNMARKED: Mark = { through: "", overdue: 0 };

/** The place of an open task among those of its class. */
export const openTaskKey = (ageClass: AgeClass, taskId: string): string => `${ageClass}:${taskId}`;

/** Takes an item that is no longer open out of the count. To be called in the transaction that closes it. */
export async function noLongerOpen(tx: Tx, ageClass: AgeClass, id: string): Promise<void> {
  const mark = (await tx.get("aging", ageClass))?.value;
  if (mark && id <= mark.through) tx.put("aging", ageClass, { ...mark, overdue: Math.max(0, mark.overdue - 1) });
}

/** Moves a class's mark on by at most `pages` pages. */
export async function moveMark({ store, clock }: PulseDeps, ageClass: AgeClass, pages: number): Promise<void> {
  for (let page = 0; page < pages; page++) {
    const mark = (await store.get("aging", ageClass))?.value ?? UNMARKED;
    if ((await overdueAfter(store, ageClass, mark.through, clock.now(), 1)).length === 0) return;
    await store.transact(async (tx) => {
      const { through, overdue } = (await tx.get("aging", ageClass))?.value ?? UNMARKED;
      const more = await overdueAfter(tx, ageClass, through, clock.now(), PAGE);
      if (more.length > 0) tx.put("aging", ageClass, { through: more.at(-1)!, overdue: overdue + more.length });
    });
  }
}

/** How many items of a class are overdue now; `at_least` when the mark is so far behind that not all were looked at. */
export async function overdueOf(
  { store, clock }: Pick<PulseDeps, "store" | "clock">,
  ageClass: AgeClass,
): Promise<{ overdue: number; at_least: boolean }> {
  const mark = (await store.get("aging", ageClass))?.value ?? UNMARKED;
  const beyond = await overdueAfter(store, ageClass, mark.through, clock.now(), READ_AT_MOST);
  return { overdue: mark.overdue + beyond.length, at_least: beyond.length === READ_AT_MOST };
}

/** The ids of the overdue items after `id`, oldest first. Ids rise in the order in which items are made. */
async function overdueAfter(
  reader: Pick<Store | Tx, "get" | "list">,
  ageClass: AgeClass,
  id: string,
  now: number,
  limit: number,
): Promise<string[]> {
  const { collection, prefix } = placeOf(ageClass);
  const found: string[] = [];
  let after = id;
  while (found.length < limit) {
    const size = Math.min(limit - found.length, found.length === 0 ? 1 : PAGE);
    const page = await reader.list(collection, { after: prefix + after, limit: size });
    for (const { id: key, value } of page) {
      if (!key.startsWith(prefix)) return found;
      after = key.slice(prefix.length);
      const created = await createdAt(reader, ageClass, after, value);
      if (created !== undefined && now - created <= TIME_LIMITS[ageClass]) return found;
      found.push(after);
    }
    if (page.length < size) return found;
  }
  return found;
}

const placeOf = (ageClass: AgeClass): { collection: "live" | "tasks_open"; prefix: string } =>
  ageClass === "pending_changes"
    ? { collection: "live", prefix: "pending_consent:" }
    : { collection: "tasks_open", prefix: `${ageClass}:` };

async function createdAt(
  reader: Pick<Store | Tx, "get">,
  ageClass: AgeClass,
  id: string,
  value: unknown,
): Promise<number | undefined> {
  if (ageClass !== "pending_changes") return Date.parse(value as string);
  const created = (await reader.get("changes", id))?.value.change.created_at;
  return created === undefined ? undefined : Date.parse(created);
}
