/**
 * Finds the owner of a target, which is its newest applied change, and its open changes. All come from the log, so no index of the
 * store can hide or invent a change.
 */
import type { AuditEntry } from "../../audit/entry.ts";
import type { Sha256 } from "../../kit/platform.ts";
import type { Reads } from "../../store/store.ts";
import type { Evidence } from "../evidence.ts";
import { MAX_LISTED_CHANGES, listIndexedOpenChanges, readRecord, formatTargetKey } from "../records.ts";
import type { Status } from "../rules/change.ts";
import { parseDetail, findTargetFacts, isRolledBack } from "../rules/event.ts";
import { isOpenChange } from "../rules/current_state.ts";
import { type TargetKey, normalizeTarget } from "../rules/target_key.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { foldEntries } from "./verify_record.ts";

/** The log, and the store, whose records name candidates for entries before the log's indexed part. */
export interface LedgerSources {
  reads: Pick<Reads, "get" | "getMany" | "list">;
  evidence: Evidence;
  /** The log's length. */
  length: number;
  /** Returns the id of the last entry before the indexed part; it decreases when more of the log is read. */
  indexedAfter: () => number;
  sha256: Sha256;
}

/**
 * Finds the newest applied change of a target by its last apply or rollback. If that entry is older than the indexed part of the
 * log, the store's index of owners names candidates.
 */
export async function findOwner(sources: LedgerSources, target: TargetKey): Promise<string | null> {
  // The relation `held`: applies and rollbacks of the target, newest first. A rollback names the owner after it.
  const newest = await sources.evidence.walkTarget("held", target)();
  if (!newest) return findStoredOwner(sources, target, new Set());
  return newest.event_type === "change_applied" ? newest.change_id : findTargetFacts(newest, target)!.target_holds!;
}

/** Finds since when a target has had its owner (RFC 3339); undefined if the entry is older than the indexed part of the log. */
export async function findOwnedSince({ evidence }: LedgerSources, target: TargetKey): Promise<string | undefined> {
  const next = evidence.walkTarget("held", target);
  // Entries are read newest first. An owner has its target since its apply, or since a rollback that gave the target back.
  let later: { owner: string | null; since: string } | undefined;
  for (let entry; (entry = await next());) {
    const { event_type, change_id, timestamp } = entry;
    const isApply = event_type === "change_applied";
    const owner = isApply ? change_id : (findTargetFacts(entry, target)?.target_holds ?? null);
    if (later && later.owner !== owner) return later.since;
    if (isApply) return timestamp;
    later = { owner, since: timestamp };
  }
  return undefined;
}

/** Finds the spelling with which a target was first applied; the requested spelling if it was never applied. */
export async function findSpelling({ reads, evidence }: LedgerSources, target: TargetKey): Promise<string> {
  // Each apply and rollback repeats the spelling of the one before it, so the newest entry has the first spelling.
  const newest = (await evidence.walkTarget("held", target)()) ?? (await findStoredApply({ reads, evidence }, target));
  const facts = newest && findTargetFacts(newest, target);
  const spelling = facts?.target_spelling ?? facts?.target;
  return spelling !== undefined && normalizeTarget(spelling) === normalizeTarget(target.target)
    ? spelling
    : target.target;
}

/** Reads the apply of a target's newest applied change by the store's index, for entries before the indexed part of the log. */
async function findStoredApply(
  { reads, evidence }: Pick<LedgerSources, "reads" | "evidence">,
  target: TargetKey,
): Promise<AuditEntry | undefined> {
  const prefix = formatTargetKey(target);
  const [newest] = await reads.list("owners", { prefix, limit: 1, reverse: true });
  return newest && evidence.storedEntry(Number(newest.id.slice(prefix.length)));
}

/** Finds the owner of a target after a rollback (`target_holds`), and the owner that the change had replaced (`target_held`). */
export async function findOwnerAfterRollback(
  sources: LedgerSources,
  { change: { change_id }, applied }: ChangeRecord,
  target: TargetKey,
): Promise<{ target_holds: string | null; target_held?: string | null }> {
  const owner = await findOwner(sources, target);
  const apply = await sources.evidence.storedEntry(applied?.entry);
  const { previous, skipped } = await findPreviousOwner(sources, target, change_id, apply);
  const findRemaining = async () => (previous === undefined ? findStoredOwner(sources, target, skipped) : previous);
  const target_holds = owner === change_id ? await findRemaining() : owner;
  return { target_holds, ...(previous === undefined ? {} : { target_held: previous }) };
}

/**
 * Finds the newest earlier owner that is still applied; null if there is none, undefined if the log does not say. `skipped`: the
 * change itself, and earlier owners that are not applied any more. `from` is the apply of the change, which names the owner that it
 * replaced (`target_held`); if that one was rolled back, its last entry with `target_held` leads further back.
 */
async function findPreviousOwner(
  sources: LedgerSources,
  target: TargetKey,
  changeId: string,
  from: AuditEntry | undefined,
) {
  const skipped = new Set([changeId]);
  for (let entry = from; ;) {
    const previous = entry && findTargetFacts(entry, target)?.target_held;
    if (typeof previous !== "string") return { previous, skipped };
    const { status, entries } = await readStatus(sources, previous);
    if (status === "applied" && !isTargetRolledBack(entries, target)) return { previous, skipped };
    // No valid log leads to a change twice; an invalid one must not make an endless loop.
    if (skipped.has(previous)) return { previous: undefined, skipped };
    skipped.add(previous);
    entry = entries.findLast((candidate) => findTargetFacts(candidate, target)?.target_held !== undefined);
  }
}

/** Returns true if a rollback that failed on other targets of a plan has restored this one. */
const isTargetRolledBack = (entries: readonly AuditEntry[], target: TargetKey): boolean =>
  entries.some((entry) => {
    const facts = entry.event_type === "change_rollback_failed" ? findTargetFacts(entry, target) : undefined;
    return facts !== undefined && isRolledBack(facts);
  });

/** Finds the newest owner among the last ten in the store's index that is not in `skipped` and that its entries confirm. */
async function findStoredOwner(
  sources: LedgerSources,
  target: TargetKey,
  skipped: ReadonlySet<string>,
): Promise<string | null> {
  const { reads, evidence, indexedAfter } = sources;
  const prefix = formatTargetKey(target);
  for (const { id, value } of await reads.list("owners", { prefix, limit: MAX_LISTED_CHANGES, reverse: true })) {
    const entry = await evidence.storedEntry(Number(id.slice(prefix.length)));
    if (entry?.event_type !== "change_applied" || entry.change_id !== value || skipped.has(value)) continue;
    // An apply in the indexed part would have been found there.
    if (entry.id > indexedAfter()) continue;
    const { status, entries } = await readStatus(sources, value);
    if (status === "applied" && isTargetProposal(target, entries[0]) && !isTargetRolledBack(entries, target))
      return value;
  }
  return null;
}

/**
 * Lists up to ten open changes of a target: changes in the store's index that the log confirms; if there are none, changes that
 * only the log has.
 */
export async function listOpenChanges(sources: LedgerSources, target: TargetKey): Promise<string[]> {
  const { reads, evidence } = sources;
  const openChanges: string[] = [];
  for (const id of await listIndexedOpenChanges(reads, target)) {
    const { status, entries } = await readStatus(sources, id);
    if (isOpenChange(status) && isTargetProposal(target, entries[0])) openChanges.push(id);
  }
  // One open change is enough for a decision, so that a rejected proposal does not search the log each time.
  if (openChanges.length > 0) return openChanges;
  const next = evidence.walkTarget("proposed", target);
  for (let entry; (entry = await next());) {
    const { id, change_id, detail } = entry;
    if (isOpenChange(foldEntries(await evidence.entriesAbout(change_id, id))?.change.status))
      openChanges.push(change_id);
    // `alone`: no older change was open.
    if (openChanges.length === MAX_LISTED_CHANGES || parseDetail(detail).alone) break;
  }
  return openChanges;
}

/** Reads the status of a change from its entries; its record names the entries before the indexed part of the log. */
async function readStatus(
  { reads, evidence, indexedAfter }: LedgerSources,
  changeId: string,
): Promise<{ status: Status | undefined; entries: AuditEntry[] }> {
  const indexed = await evidence.entriesAbout(changeId, indexedAfter() + 1);
  if (indexed[0]?.event_type === "change_proposed")
    return { status: foldEntries(indexed)?.change.status, entries: indexed };
  const stored = await readRecord(reads, changeId);
  const older = await Promise.all((stored?.audit ?? []).filter((id) => id <= indexedAfter()).map(evidence.storedEntry));
  const recordedStatus = indexed
    .map(({ detail }) => parseDetail(detail).status)
    .findLast((status) => status !== undefined);
  return {
    status: recordedStatus ?? stored?.change.status,
    entries: [...older.filter((entry) => entry?.change_id === changeId), ...indexed] as AuditEntry[],
  };
}

/** Returns true for the entry of a proposal that sets the target. */
export function isTargetProposal(target: TargetKey, entry: AuditEntry | undefined): boolean {
  if (entry?.event_type !== "change_proposed") return false;
  return findTargetFacts(entry, target) !== undefined;
}
