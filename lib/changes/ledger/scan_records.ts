/** Compares pages of records with the log, in an order of reads in which no concurrent write looks like a mismatch. */
import { entryKey } from "../../audit/chain.ts";
import type { AuditEntry } from "../../audit/entry.ts";
import type { CollectionRecord, Stored } from "../../store/store.ts";
import type { ChangesDeps } from "../deps.ts";
import { listTargetChangeKeys } from "../target_index.ts";
import { formatAgentChangeKey, formatDueApplyKey, formatTargetKey } from "../records.ts";
import type { TargetKey } from "../rules/target_key.ts";
import { isOpenChange, isReviewDue } from "../rules/current_state.ts";
import { listEntries } from "../rules/list_entries.ts";
import { findApplied, type ChangeRecord } from "../rules/record.ts";
import { isRollingOut } from "../rules/rollout_state.ts";
import { fromStoredChange } from "../rules/stored_record.ts";
import { listEntryIds, type Mismatch, verifyRecord } from "./verify_record.ts";

type ScanDeps = Pick<ChangesDeps, "store" | "sha256">;
type StoredRecord = Stored<ChangeRecord>;

/** Mismatches by change. */
export type Mismatches = Map<string, Mismatch>;

/** Adds fields to a mismatch; nothing is added to `record`, since the record itself is missing or malformed. */
export const addFields = (fields: Mismatch = [], added: Mismatch): Mismatch =>
  fields.includes("record") ? fields : [...new Set([...fields, ...added])];

/** Compares records with the entries that they name and with their index rows. */
export async function scanRecords(
  deps: ScanDeps,
  page: readonly Stored<CollectionRecord<"changes">>[],
): Promise<Mismatches> {
  const mismatches: Mismatches = new Map();
  const records = page.map((stored): StoredRecord => ({ ...stored, value: fromStoredChange(stored) }));
  const storedEntries = await deps.store.getMany(
    "audit",
    records.flatMap(({ value }) => listEntryIds(value).map(entryKey)),
  );
  const matching: StoredRecord[] = [];
  // The entries are in the order of the records, so each record takes its own from the front.
  for (const record of records) {
    const { id, value } = record;
    const entries = storedEntries.splice(0, listEntryIds(value).length).map((entry) => entry?.value);
    const fields = verifyRecord(id, value, entries, deps.sha256);
    if (fields.length > 0) mismatches.set(id, fields);
    else matching.push(record);
  }
  for (const [id, fields] of await scanIndexes(deps, matching)) mismatches.set(id, fields);
  return mismatches;
}

/** Finds changes whose records do not name all of these entries. */
export async function scanEntries({ store }: ScanDeps, entries: readonly AuditEntry[]): Promise<Mismatches> {
  const mismatches: Mismatches = new Map();
  const idsByChange = new Map<string, number[]>();
  for (const { change_id, id } of entries)
    if (change_id !== "") idsByChange.set(change_id, [...(idsByChange.get(change_id) ?? []), id]);
  const records = await store.getMany("changes", [...idsByChange.keys()]);
  [...idsByChange].forEach(([change_id, ids], index) => {
    const audit = (records[index]?.value as ChangeRecord | null | undefined)?.audit;
    if (!Array.isArray(audit)) mismatches.set(change_id, ["record"]);
    else if (!ids.every((id) => audit.includes(id))) mismatches.set(change_id, ["audit"]);
  });
  return mismatches;
}

/** Expected rows of a change in each index; `value` is undefined for a row that must not exist. */
const INDEXES = {
  live_by_target: ({ change }: ChangeRecord) =>
    listTargetChangeKeys(change).map((key) => expectRow(key, isOpenChange(change.status), true)),
  owners: (record: ChangeRecord) => {
    const { change, applied } = record;
    if (!applied) return [];
    const isOwned = (target: TargetKey): boolean =>
      change.status === "applied" && findApplied(record, target)?.rolled_back_at === undefined;
    return listEntries(change).map((target) =>
      expectRow(formatTargetKey(target) + entryKey(applied.entry), isOwned(target), change.change_id),
    );
  },
  live_by_agent: ({ change }: ChangeRecord) => {
    const key = formatAgentChangeKey(change);
    return key === undefined ? [] : [expectRow(key, isOpenChange(change.status), true)];
  },
  review_due: ({ change }: ChangeRecord) => [expectRow(change.change_id, isReviewDue(change), true)],
  rollouts_running: ({ change }: ChangeRecord) =>
    change.stages ? [expectRow(change.change_id, isRollingOut(change), true)] : [],
  applies_due: ({ change }: ChangeRecord) => {
    const key = formatDueApplyKey(change);
    return key === undefined ? [] : [expectRow(key, true, true)];
  },
} as const;

const expectRow = <T>(id: string, isListed: boolean, value: T) => ({ id, value: isListed ? value : undefined });
const INDEX_NAMES = Object.keys(INDEXES) as (keyof typeof INDEXES)[];

async function scanIndexes({ store }: ScanDeps, records: readonly StoredRecord[]): Promise<Mismatches> {
  const mismatches: Mismatches = new Map();
  for (const index of INDEX_NAMES) {
    const rows = records.flatMap((record) => INDEXES[index](record.value).map((expected) => ({ record, ...expected })));
    if (rows.length === 0) continue;
    const storedRows = await store.getMany(
      index,
      rows.map(({ id }) => id),
    );
    for (const [position, { record, value }] of rows.entries()) {
      if (storedRows[position]?.value === value) continue;
      // The record may have changed since it was read.
      if ((await store.get("changes", record.id))?.revision !== record.revision) continue;
      mismatches.set(record.id, addFields(mismatches.get(record.id), [index]));
    }
  }
  return mismatches;
}

/** Lists the expected rows of a change in all indexes. */
export const listIndexRows = (record: ChangeRecord) =>
  INDEX_NAMES.flatMap((index) => INDEXES[index](record).map((expected) => ({ index, ...expected })));
