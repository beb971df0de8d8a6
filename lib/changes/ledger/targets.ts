/** Owners and live changes of targets, from the log: no index of the store can hide or invent a change. */
import type { AuditEntry } from "../../audit/entry.ts";
import type { Sha256 } from "../../kit/platform.ts";
import type { Reads } from "../../store/store.ts";
import type { Evidence } from "../evidence.ts";
import { LISTED, listLiveChanges, type Place, readRecord, targetKey } from "../records.ts";
import type { Status } from "../rules/change.ts";
import { parseDetail, findTargetFacts, isRolledBack } from "../rules/event.ts";
import { isLive } from "../rules/current_state.ts";
import { normalizeTarget } from "../rules/target_key.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { foldEntries } from "./verify_record.ts";

/** Sources of a ledger. */
export interface LedgerSources {
  reads: Pick<Reads, "get" | "getMany" | "list">;
  evidence: Evidence;
  /** The log's length. */
  length: number;
  /** The id before the first entry that this process has indexed; it falls when more of the log is read. */
  indexedAfter: () => number;
  sha256: Sha256;
}

/**
 * Finds the newest applied change of a target by its last apply or rollback. Where that is older than all that was indexed, the
 * index of the store names candidates.
 */
export async function findOwner(sources: LedgerSources, target: Place): Promise<string | null> {
  const newest = await sources.evidence.onTarget("held", target)();
  if (!newest) return findStoredOwner(sources, target, new Set());
  return newest.event_type === "change_applied" ? newest.change_id : findTargetFacts(newest, target)!.target_holds!;
}

/** Returns since when a target has had its owner, by the entries of applies and rollbacks; undefined where these are too old. */
export async function findOwnedSince({ evidence }: LedgerSources, target: Place): Promise<string | undefined> {
  const next = evidence.onTarget("held", target);
  let found: { owner: string | null; since: string } | undefined;
  for (let entry; (entry = await next());) {
    const { event_type, change_id, timestamp } = entry;
    const isApply = event_type === "change_applied";
    const owner = isApply ? change_id : (findTargetFacts(entry, target)?.target_holds ?? null);
    if (found && found.owner !== owner) return found.since;
    found = { owner, since: timestamp };
    if (isApply) return found.since;
  }
  return undefined;
}

/** Returns the spelling with which a tenant's target was first applied; the requested one where it never was. */
export async function findSpelling({ reads, evidence }: LedgerSources, target: Place): Promise<string> {
  // Each apply and rollback repeats the spelling of the one before it, so the newest tells the first.
  const newest = (await evidence.onTarget("held", target)()) ?? (await newestStoredApply({ reads, evidence }, target));
  const held = newest && findTargetFacts(newest, target);
  const spelling = held?.target_spelling ?? held?.target;
  return spelling !== undefined && normalizeTarget(spelling) === normalizeTarget(target.target)
    ? spelling
    : target.target;
}

/** Returns the apply of the newest applied change of a target, where it is older than all that was indexed. */
async function newestStoredApply(
  { reads, evidence }: Pick<LedgerSources, "reads" | "evidence">,
  target: Place,
): Promise<AuditEntry | undefined> {
  const prefix = targetKey(target);
  const [newest] = await reads.list("owners", { prefix, limit: 1, reverse: true });
  return newest && evidence.kept(Number(newest.id.slice(prefix.length)));
}

/** Returns what a rollback records of its target: its owner after the rollback, and the change under the one that is rolled back. */
export async function findOwnerWithout(
  sources: LedgerSources,
  { change: { change_id }, applied }: ChangeRecord,
  target: Place,
): Promise<{ target_holds: string | null; target_held?: string | null }> {
  const owner = await findOwner(sources, target);
  const { under, passed } = await findUnder(sources, target, change_id, await sources.evidence.kept(applied?.entry));
  const target_holds =
    owner !== change_id ? owner : under === undefined ? await findStoredOwner(sources, target, passed) : under;
  return { target_holds, ...(under === undefined ? {} : { target_held: under }) };
}

/**
 * Finds the newest change under one that is still applied, and those that were passed on the way; undefined where the log does not
 * say. Each apply names the change it was over, and each rollback what is left of that, so that nothing is passed twice.
 */
async function findUnder(sources: LedgerSources, target: Place, changeId: string, from: AuditEntry | undefined) {
  const passed = new Set([changeId]);
  for (let entry = from; ;) {
    const under = entry && findTargetFacts(entry, target)?.target_held;
    if (typeof under !== "string") return { under, passed };
    const { status, entries } = await readStatus(sources, under);
    if (status === "applied" && !isTakenBackAt(entries, target)) return { under, passed };
    if (passed.has(under)) return { under: undefined, passed };
    passed.add(under);
    entry = entries.findLast((one) => findTargetFacts(one, target)?.target_held !== undefined);
  }
}

/** Returns true where a rollback that failed on other targets of a plan has taken this one back. */
const isTakenBackAt = (entries: readonly AuditEntry[], target: Place): boolean =>
  entries.some((entry) => {
    const found = entry.event_type === "change_rollback_failed" ? findTargetFacts(entry, target) : undefined;
    return found !== undefined && isRolledBack(found);
  });

/** Finds the newest of a target's applied changes in the index that was not passed, and that the log may have. */
async function findStoredOwner(
  sources: LedgerSources,
  target: Place,
  passed: ReadonlySet<string>,
): Promise<string | null> {
  const { reads, evidence, indexedAfter } = sources;
  const prefix = targetKey(target);
  for (const { id, value } of await reads.list("owners", { prefix, limit: LISTED, reverse: true })) {
    const entry = await evidence.kept(Number(id.slice(prefix.length)));
    if (entry?.event_type !== "change_applied" || entry.change_id !== value || passed.has(value)) continue;
    if (entry.id > indexedAfter()) continue;
    const { status, entries } = await readStatus(sources, value);
    if (status === "applied" && isTargetProposal(target, entries[0]) && !isTakenBackAt(entries, target)) return value;
  }
  return null;
}

/** Lists the live changes of a target, ten at most: those of the index that the log has; where it has none of them, those of the log. */
export async function listLive(sources: LedgerSources, target: Place): Promise<string[]> {
  const { reads, evidence } = sources;
  const live: string[] = [];
  for (const id of await listLiveChanges(reads, target)) {
    const { status, entries } = await readStatus(sources, id);
    if (isLive(status) && isTargetProposal(target, entries[0])) live.push(id);
  }
  // One is enough to decide by: the log is not searched each time that a proposal is rejected.
  if (live.length > 0) return live;
  const next = evidence.onTarget("proposed", target);
  for (let entry; (entry = await next());) {
    const { id, change_id, detail } = entry;
    if (isLive(foldEntries(await evidence.about(change_id, id))?.change.status)) live.push(change_id);
    if (live.length === LISTED || parseDetail(detail).alone) break;
  }
  return live;
}

/** Returns the status of a change by its entries; its record names those that are older than all that was indexed. */
async function readStatus(
  { reads, evidence, indexedAfter }: LedgerSources,
  changeId: string,
): Promise<{ status: Status | undefined; entries: AuditEntry[] }> {
  const indexed = await evidence.about(changeId, indexedAfter() + 1);
  if (indexed[0]?.event_type === "change_proposed")
    return { status: foldEntries(indexed)?.change.status, entries: indexed };
  const stored = await readRecord(reads, changeId);
  const older = await Promise.all((stored?.audit ?? []).filter((id) => id <= indexedAfter()).map(evidence.kept));
  const recorded = indexed.map(({ detail }) => parseDetail(detail).status).findLast((status) => status !== undefined);
  return {
    status: recorded ?? stored?.change.status,
    entries: [...older.filter((entry) => entry?.change_id === changeId), ...indexed] as AuditEntry[],
  };
}

/** Returns true for the proposal of a change of a target. */
export function isTargetProposal(place: Place, entry: AuditEntry | undefined): boolean {
  if (entry?.event_type !== "change_proposed") return false;
  return findTargetFacts(entry, place) !== undefined;
}
