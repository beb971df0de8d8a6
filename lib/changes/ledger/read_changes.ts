/** Verified changes by their ids, for reads that decide nothing. */
import type { TargetKey } from "../rules/target_key.ts";
import { entryKey } from "../../audit/chain.ts";
import type { AuditEntry } from "../../audit/entry.ts";
import { hasValidHash } from "../../audit/entry_hash.ts";
import { yieldToEventLoop } from "../../kit/event_loop.ts";
import type { ChangesDeps } from "../deps.ts";
import type { Change } from "../rules/change.ts";
import { findTargetFacts } from "../rules/event.ts";
import type { ApplyRecord, ChangeRecord } from "../rules/record.ts";
import { fromStoredChange } from "../rules/stored_record.ts";
import { nameQuery, targetQuery } from "../subjects.ts";
import { listEntryIds, verifyRecord } from "./verify_record.ts";

/** A change with its apply, or the reason why its record is not trusted. */
export type VerifiedChange = { change: Change; applied: ApplyRecord | null } | { problem: string };

/** Changes that are verified before the event loop runs other work. */
const BATCH_SIZE = 50;

type ReadDeps = Pick<ChangesDeps, "store" | "sha256" | "integrity">;

/**
 * Reads changes and compares each with its entries. Entries in the index of this process must be unchanged, and none of them may be
 * missing from the record; older ones must only match their own hash. If the chain is known to be broken, changes with an entry
 * after the break are not trusted.
 */
export async function readVerifiedChanges(deps: ReadDeps, ids: readonly string[]): Promise<VerifiedChange[]> {
  const { store, integrity } = deps;
  // Read before the records, since a record need not name entries that are appended later.
  const indexedEnd = integrity.logIndex?.durable.length ?? 0;
  const records = (await store.getMany("changes", ids)).map((stored) => stored && fromStoredChange(stored));
  const entryIds = records.flatMap(listEntryIds);
  const stored = await store.getMany("audit", entryIds.map(entryKey));
  const entries = new Map(stored.map((entry, index) => [entryIds[index]!, entry?.value]));
  const verified: VerifiedChange[] = [];
  for (const [index, id] of ids.entries()) {
    verified.push(await verify(deps, { changeId: id, record: records[index], entries, indexedEnd }));
    if (index % BATCH_SIZE === BATCH_SIZE - 1) await yieldToEventLoop();
  }
  return verified;
}

/** A stored record, and the stored entries among which are its own. */
interface StoredFacts {
  changeId: string;
  record: ChangeRecord | undefined;
  entries: ReadonlyMap<number, AuditEntry | undefined>;
  /** Id of the last durable entry in the index when the record was read. */
  indexedEnd: number;
}

async function verify(deps: ReadDeps, { changeId, record, entries, indexedEnd }: StoredFacts): Promise<VerifiedChange> {
  const { sha256, integrity } = deps;
  const ids = listEntryIds(record);
  const ownEntries = ids.map((id) => entries.get(id));
  const fields = verifyRecord(changeId, record, ownEntries, sha256);
  if (fields.includes("record")) return { problem: "the change has no valid record" };
  if (!ids.every((id, index) => hasEntry(deps, id, ownEntries[index], changeId)))
    return { problem: "an entry about the change is not the one that the log had" };
  if (await isIncomplete(deps, changeId, ids, indexedEnd))
    return { problem: "the record does not name all of its entries" };
  if (fields.length > 0) return { problem: `the record does not match the log (${fields.join(", ")})` };
  const from = integrity.breach?.first_invalid;
  if (from !== undefined && ids.some((id) => id >= from))
    return { problem: `the audit chain is broken from entry ${from} on` };
  const { change, applied } = record!;
  return { change, applied };
}

function hasEntry(
  { sha256, integrity }: ReadDeps,
  id: number,
  entry: AuditEntry | undefined,
  changeId: string,
): boolean {
  if (entry?.id !== id || entry.change_id !== changeId || !hasValidHash(entry, sha256)) return false;
  const { logIndex } = integrity;
  // An entry outside the indexed part is checked only by its own hash.
  return !logIndex || id <= logIndex.after || id > logIndex.tentative.length || logIndex.hasEntry(entry);
}

/** Returns true if an indexed entry up to `indexedEnd` is about the change and not among `ids`. */
async function isIncomplete(
  { store, integrity: { logIndex } }: ReadDeps,
  changeId: string,
  ids: readonly number[],
  indexedEnd: number,
): Promise<boolean> {
  const indexedIds = logIndex ? [...logIndex.find(nameQuery(changeId), indexedEnd, 0)] : [];
  const others = indexedIds.filter((id) => !ids.includes(id));
  if (others.length === 0) return false;
  // Two changes may have the same hash in the index.
  const stored = await store.getMany("audit", others.map(entryKey));
  return stored.some((entry) => entry === undefined || entry.value.change_id === changeId);
}

/**
 * Lists the changes that were applied to a target after a former owner and not rolled back since, as far as this process has
 * indexed the log; undefined if an entry is not the one that was indexed.
 */
export async function listLaterOwners(
  deps: ReadDeps,
  target: TargetKey,
  { change_id: owner, entry }: { change_id: string; entry: number },
): Promise<string[] | undefined> {
  const { store, integrity } = deps;
  const { logIndex } = integrity;
  const indexedIds = [...(logIndex?.find(targetQuery("held", target), logIndex.durable.length, entry) ?? [])];
  const rolledBack = new Set<string>();
  const later: string[] = [];
  // The ids are in descending order. Usually the newest entry alone shows which change owns the target.
  for (let start = 0, count = 1; start < indexedIds.length; start += count, count = BATCH_SIZE) {
    const ids = indexedIds.slice(start, start + count);
    const stored = await store.getMany("audit", ids.map(entryKey));
    for (const [index, storedEntry] of stored.entries()) {
      const { event_type, change_id, tenant, detail } = storedEntry?.value ?? ({} as Partial<AuditEntry>);
      if (!change_id || !hasEntry(deps, ids[index]!, storedEntry?.value, change_id)) return undefined;
      const facts = findTargetFacts({ tenant: tenant!, detail: detail! }, target);
      if (!facts) continue;
      const { target_holds } = facts;
      if (event_type === "change_rolled_back" || event_type === "change_rollback_failed") rolledBack.add(change_id);
      else if (!rolledBack.has(change_id)) later.push(change_id);
      // Without a newer apply, a rollback to the former owner or to no change leaves no later owner.
      if (later.length === 0 && (target_holds === owner || target_holds === null)) return later;
    }
  }
  return later;
}
