/** Indexes of outcomes by horizon, KPI and target. */
import { entryKey } from "../../audit/chain.ts";
import { formatTargetKey } from "../../changes/records.ts";
import type { Change } from "../../changes/rules/change.ts";
import { type ChangeEntry, isPlan, listEntries } from "../../changes/rules/list_entries.ts";
import { MAX_NAMED_CHANGES, type OutcomeRecord } from "../../changes/rules/outcome.ts";
import type { Reads, Tx } from "../../store/store.ts";

declare module "../../store/store.ts" {
  interface Collections {
    /** `outcomes_due/<moment>:<change_id>`: the horizon of an open outcome. */
    outcomes_due: true;
    /** `outcomes_by_kpi/<kpi>\n<open or over>\n<applied entry>\n<change_id>` */
    outcomes_by_kpi: true;
    /** `outcomes_by_target/<target key>`: the change whose outcome is open on the target, or a plan whose outcome has ended. */
    outcomes_by_target: string;
  }
}

/** Adds the open outcome of a change to the index by target: a plan has a row for each of its targets, twenty at most. */
export function indexTargets(tx: Tx, { change_id, ...change }: ChangeEntry & Pick<Change, "change_id">): void {
  for (const entry of listEntries(change)) tx.put("outcomes_by_target", formatTargetKey(entry), change_id);
}

/** Adds an open outcome to the other indexes, and deletes rows of its KPI that are no longer read. */
export async function indexOpen(tx: Tx, record: OutcomeRecord): Promise<void> {
  const { judged_from, change_id, kpi } = record;
  tx.put("outcomes_due", dueKey(judged_from, change_id), true);
  if (kpi === null) return;
  tx.put("outcomes_by_kpi", kpiKey(kpi, "open", record), true);
  const over = await listNewest(tx, kpi, "over", MAX_NAMED_CHANGES + MAX_OBSOLETE);
  for (const { id } of over.slice(MAX_NAMED_CHANGES)) tx.delete("outcomes_by_kpi", id);
}

/** Obsolete rows that an apply deletes; several outcomes may end between two applies, and the next deletes the rest. */
const MAX_OBSOLETE = 3;

/** Moves an outcome from the open ones to those that are over. */
export async function indexEnded(tx: Tx, record: OutcomeRecord, change: ChangeEntry): Promise<void> {
  const { judged_from, change_id, kpi } = record;
  tx.delete("outcomes_due", dueKey(judged_from, change_id));
  const key = formatTargetKey(change);
  // The rows of a plan stay until another change is applied: they are too many for one step.
  if (!isPlan(change) && (await tx.get("outcomes_by_target", key))?.value === change_id)
    tx.delete("outcomes_by_target", key);
  if (kpi === null) return;
  tx.delete("outcomes_by_kpi", kpiKey(kpi, "open", record));
  tx.put("outcomes_by_kpi", kpiKey(kpi, "over", record), true);
}

const dueKey = (moment: string, changeId: string): string => `${moment}:${changeId}`;

/** Lists the next horizons with their changes. */
export async function listDue(
  { list }: Pick<Reads, "list">,
  limit: number,
): Promise<{ moment: string; change_id: string }[]> {
  const due = await list("outcomes_due", { limit, keysOnly: true });
  return due.map(({ id }) => {
    // A moment contains colons, and ends with `Z`.
    const end = id.indexOf("Z:") + 1;
    return { moment: id.slice(0, end), change_id: id.slice(end + 1) };
  });
}

const kpiPrefix = (kpi: string, state: "open" | "over"): string => `${kpi}\n${state}\n`;

const kpiKey = (
  kpi: string,
  state: "open" | "over",
  { applied_entry, change_id }: Pick<OutcomeRecord, "applied_entry" | "change_id">,
): string => `${kpiPrefix(kpi, state)}${entryKey(applied_entry)}\n${change_id}`;

/** Parses a key into its change and the entry of the apply. */
function parseKpiKey(key: string): { change_id: string; entry: number } {
  const [entry, change_id] = key.split("\n").slice(-2) as [string, string];
  return { change_id, entry: Number(entry) };
}

/** Lists the changes on a KPI whose outcomes are open, newest first. */
export const listNewestOpen = async (reads: Reads, kpi: string): Promise<string[]> =>
  (await listNewest(reads, kpi, "open", MAX_NAMED_CHANGES)).map(({ id }) => parseKpiKey(id).change_id);

/** Lists the changes applied last on a KPI, newest first, with the entry of the apply. */
export async function listNewestApplied(reads: Reads, kpi: string): Promise<{ change_id: string; entry: number }[]> {
  const pages = await Promise.all(
    (["open", "over"] as const).map((state) => listNewest(reads, kpi, state, MAX_NAMED_CHANGES)),
  );
  return pages
    .flat()
    .map(({ id }) => parseKpiKey(id))
    .sort((a, b) => b.entry - a.entry)
    .slice(0, MAX_NAMED_CHANGES);
}

const listNewest = ({ list }: Reads, kpi: string, state: "open" | "over", limit: number) => {
  const prefix = kpiPrefix(kpi, state);
  // `~` sorts after the digits that follow the prefix, so the page starts with the newest apply.
  return list("outcomes_by_kpi", { prefix, after: `${prefix}~`, reverse: true, limit, keysOnly: true });
};
