/** Where outcomes stand in order: when time does something to them next, and, of each KPI, the open ones and the newest of the rest. */
import { entryKey } from "../audit/chain.ts";
import { NAMED, type OutcomeRecord } from "../governance/rules/outcome.ts";
import type { Reads, Tx } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    outcomes: OutcomeRecord;
    /** `outcomes_due/<moment>:<change_id>`: when the horizon of an open outcome is over, and after that when it closes. */
    outcomes_due: true;
    /** `outcomes_by_kpi/<kpi>\n<open or over>\n<applied entry>\n<change_id>` */
    outcomes_by_kpi: Placed;
  }
}

/** What is known of an open outcome without its record; `told` is the memory of its latest verdict. */
type Placed = Pick<OutcomeRecord, "judged_from"> & { told?: string };

/** The place of an outcome that time does something to at a moment. */
export const dueKey = (moment: string, changeId: string): string => `${moment}:${changeId}`;

/** The moment of a place, and the change. */
export function dueOf(key: string): { moment: string; change_id: string } {
  const end = key.indexOf("Z:") + 1;
  return { moment: key.slice(0, end), change_id: key.slice(end + 1) };
}

/** The next place; undefined where nothing is open. */
export const nextDue = async ({ list }: Reads): Promise<string | undefined> =>
  (await list("outcomes_due", { limit: 1, keysOnly: true }))[0]?.id;

/** What the places of a KPI's open outcomes begin with, and of those that are over. */
export const placesOf = (kpi: string, state: "open" | "over"): string => `${kpi}\n${state}\n`;

/** The place of an outcome among those of its KPI; undefined where it names none. */
export const kpiKey = (
  { kpi, applied_entry, change_id }: Pick<OutcomeRecord, "kpi" | "applied_entry" | "change_id">,
  state: "open" | "over" = "open",
): string | undefined => (kpi === null ? undefined : `${placesOf(kpi, state)}${entryKey(applied_entry)}\n${change_id}`);

/** The change of a place, and its apply. */
export function appliedAt(place: string): { change_id: string; entry: number } {
  const [entry, change_id] = place.split("\n").slice(-2) as [string, string];
  return { change_id, entry: Number(entry) };
}

/** Puts an opened outcome among the open ones of its KPI, and forgets of the others those that nothing names any more. */
export async function placeOpen(tx: Tx, record: OutcomeRecord): Promise<void> {
  const key = kpiKey(record);
  if (key === undefined) return;
  tx.put("outcomes_by_kpi", key, { judged_from: record.judged_from });
  const over = await newest(tx, record.kpi!, "over", NAMED + FORGOTTEN);
  for (const { id } of over.slice(NAMED)) tx.delete("outcomes_by_kpi", id);
}

/** More than one is over at a time only where time closes several between two applies; the rest goes with the next. */
const FORGOTTEN = 3;

/** Puts an outcome among those of its KPI that are over. */
export function placeOver(tx: Tx, record: OutcomeRecord): void {
  const key = kpiKey(record);
  if (key === undefined) return;
  tx.delete("outcomes_by_kpi", key);
  tx.put("outcomes_by_kpi", kpiKey(record, "over")!, { judged_from: record.judged_from });
}

/** The changes on a KPI that are open, the newest first. */
export const newestOpen = async (reads: Reads, kpi: string): Promise<string[]> =>
  (await newest(reads, kpi, "open", NAMED)).map(({ id }) => appliedAt(id).change_id);

/** The changes that were applied last on a KPI, the newest first, with the entry of the apply. */
export async function newestApplied(reads: Reads, kpi: string): Promise<{ change_id: string; entry: number }[]> {
  const pages = await Promise.all((["open", "over"] as const).map((state) => newest(reads, kpi, state, NAMED)));
  return pages
    .flat()
    .map(({ id }) => appliedAt(id))
    .sort((a, b) => b.entry - a.entry)
    .slice(0, NAMED);
}

const newest = ({ list }: Reads, kpi: string, state: "open" | "over", limit: number) => {
  const prefix = placesOf(kpi, state);
  return list("outcomes_by_kpi", { prefix, after: `${prefix}~`, reverse: true, limit, keysOnly: true });
};
