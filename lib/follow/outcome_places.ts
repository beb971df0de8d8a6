/** Where outcomes stand in order: when time does something to them next, and, of each KPI, the open ones and the newest of the rest. */
import { entryKey } from "../audit/chain.ts";
import { NAMED, type OutcomeRecord } from "../governance/rules/outcome.ts";
import type { Reads, Tx } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    outcomes: OutcomeRecord;
    /** `outcomes_due/<moment>:<change_id>`: when the horizon of an open outcome is over, and after that when it closes. */
    outcomes_due: true;
    /** `outcomes_by_kpi/<kpi>\n<open or over>\n<applied entry>` */
    outcomes_by_kpi: Placed;
  }
}

/** What is known of an outcome without its record; `told` is the memory of an open one's latest verdict. */
type Placed = Pick<OutcomeRecord, "change_id" | "judged_from"> & { told?: string };

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

/** The place of an open outcome among those of its KPI; undefined where it names none. */
export const openKey = ({ kpi, applied_entry }: OutcomeRecord): string | undefined =>
  kpi === null ? undefined : placesOf(kpi, "open") + entryKey(applied_entry);

/** Puts an opened outcome among the open ones of its KPI, and forgets of the others those that nothing names any more. */
export async function placeOpen(tx: Tx, { kpi, applied_entry, change_id, judged_from }: OutcomeRecord): Promise<void> {
  if (kpi === null) return;
  tx.put("outcomes_by_kpi", placesOf(kpi, "open") + entryKey(applied_entry), { change_id, judged_from });
  const over = await newest(tx, kpi, "over", NAMED + FORGOTTEN);
  for (const { id } of over.slice(NAMED)) tx.delete("outcomes_by_kpi", id);
}

/** More than one is over at a time only where time closes several between two applies; the rest goes with the next. */
const FORGOTTEN = 3;

/** Puts an outcome among those of its KPI that are over. */
export function placeOver(tx: Tx, { kpi, applied_entry, change_id, judged_from }: OutcomeRecord): void {
  if (kpi === null) return;
  tx.delete("outcomes_by_kpi", placesOf(kpi, "open") + entryKey(applied_entry));
  tx.put("outcomes_by_kpi", placesOf(kpi, "over") + entryKey(applied_entry), { change_id, judged_from });
}

/** The changes on a KPI that are open, the newest first. */
export const newestOpen = async (reads: Reads, kpi: string): Promise<string[]> =>
  (await newest(reads, kpi, "open", NAMED)).map(({ value }) => value.change_id);

/** The changes that were applied last on a KPI, the newest first, with the entry of the apply. */
export async function newestApplied(reads: Reads, kpi: string): Promise<{ change_id: string; entry: number }[]> {
  const pages = await Promise.all((["open", "over"] as const).map((state) => newest(reads, kpi, state, NAMED)));
  return pages
    .flat()
    .map(({ id, value }) => ({ change_id: value.change_id, entry: Number(id.slice(id.lastIndexOf("\n") + 1)) }))
    .sort((a, b) => b.entry - a.entry)
    .slice(0, NAMED);
}

const newest = ({ list }: Reads, kpi: string, state: "open" | "over", limit: number) => {
  const prefix = placesOf(kpi, state);
  return list("outcomes_by_kpi", { prefix, after: `${prefix}~`, reverse: true, limit });
};
