/**
 * Verified reads of the log: each entry has the hash in the index of the log, and no indexed entry is left out. The index covers
 * the entries after the id `logIndex.after`, and finds them by subject: a hash of the change, target or mandate that they are about.
 */
import type { TargetKey } from "./rules/target_key.ts";
import { type ChainHead, entryKey, readHead } from "../audit/chain.ts";
import type { AuditEntry, EventType } from "../audit/entry.ts";
import { createCachedHashCheck } from "../audit/entry_hash.ts";
import type { LogIndex } from "../audit/log_index.ts";
import type { SubjectQuery } from "../audit/log_segment.ts";
import { LogNotIndexed, requireIndexed } from "../audit/read_log.ts";
import type { Sha256 } from "../kit/platform.ts";
import type { Reads } from "../store/store.ts";
import { runWithLog, type LogDeps } from "./run_with_log.ts";
import { parseDetail, findTargetFacts, isRolledBack } from "./rules/event.ts";
import { isMandateEvent, type MandateDetail } from "./rules/mandate_record.ts";
import { mandateConsentQuery, MINOR_QUERY, nameQuery, type TargetRelation, targetQuery } from "./subjects.ts";

/** Checks the hash of an entry, with a cache: successive decisions read the same newest entries of a target and of the KPIs. */
const hasValidHash = createCachedHashCheck();

/** Number of entries that are read further back at a time, if it is not known how many are needed. */
const READ_BACK_SIZE = 4096;

/** Verified reads of the log for one transaction or request. */
export type Evidence = ReturnType<typeof createEvidence>;

/** Returns the next entry of a walk, newest first; undefined at its end. */
export type NextEntry = () => Promise<AuditEntry | undefined>;

/** Creates verified reads of a log. Each of them may throw `LogNotIndexed`: `runWithLog` then reads the log and starts again. */
export function createEvidence(
  reads: Pick<Reads, "getMany" | "list">,
  log: { logIndex: LogIndex; head: ChainHead; sha256: Sha256 },
) {
  const { logIndex, head, sha256 } = log;

  /** Entries that were read; a decision needs some of them more than once. */
  const cache = new Map<number, AuditEntry>();
  const get = async (ids: readonly number[]): Promise<AuditEntry[]> => {
    const uncached = ids.filter((id) => !cache.has(id));
    const stored = uncached.length === 0 ? [] : await reads.getMany("audit", uncached.map(entryKey));
    for (const [index, record] of stored.entries()) {
      const id = uncached[index]!;
      const entry = record?.value;
      // Entries before the indexed part have no known hash to be compared with.
      if (entry?.id !== id || !hasValidHash(entry, sha256) || (id > logIndex.after && !logIndex.hasEntry(entry)))
        throw new LogNotIndexed(id);
      cache.set(id, entry);
    }
    return ids.map((id) => cache.get(id)!);
  };

  /** Reads the entries with these ids, given in rising order. */
  const entries = async (ids: readonly number[]): Promise<AuditEntry[]> => {
    if (ids.length === 0) return [];
    await requireIndexed(reads, log, ids[0]!);
    return get(ids);
  };

  const isEntryId = (id: unknown): id is number =>
    typeof id === "number" && Number.isInteger(id) && id >= 1 && id <= head.length;

  /** Queries the index of the log from an entry on. */
  const queryIndex = async <T>(from: number, query: () => T): Promise<T> => {
    await requireIndexed(reads, log, from);
    // A concurrent reader may have dropped the index: no await may come between this check and the query.
    if (!logIndex.covers(head)) throw new LogNotIndexed(from);
    return query();
  };

  const queryIds = (query: (after: number) => number[]): Promise<number[]> =>
    queryIndex(logIndex.after + 1, () => query(logIndex.after));

  const listFrom = async (from: number, name: string, isAbout: (entry: AuditEntry) => boolean) => {
    const ids = await queryIndex(from, () => [...logIndex.find(nameQuery(name), head.length, from - 1)].reverse());
    return (await get(ids)).filter(isAbout);
  };

  /** Walks the indexed entries that match a query, newest first. `isAbout` excludes other subjects with the same hash. */
  const walk = (query: SubjectQuery, isAbout: (entry: AuditEntry) => boolean): NextEntry => {
    const from = logIndex.after + 1;
    const ids = logIndex.find(query, head.length, from - 1);
    return async () => {
      for (;;) {
        const { done, value: id } = await queryIndex(from, () => ids.next());
        if (done) return undefined;
        const [entry] = await get([id]);
        if (isAbout(entry!)) return entry;
      }
    };
  };
  /**
   * As `walk`, back to a moment (RFC 3339): reads the log as far back as needed, but not beyond the room of the index, 4.2 million
   * entries (`MAX_SEGMENTS`), where the walk ends as if the log began there. If a limit's period has more entries, the limit
   * counts only these.
   */
  const walkSince = (query: SubjectQuery, isAbout: (entry: AuditEntry) => boolean, moment: string): NextEntry => {
    // A concurrent reader may read further back meanwhile, but this walk ends where the index began when the walk was created.
    const { after } = logIndex;
    const next = walk(query, isAbout);
    return async () => {
      const entry = await next();
      // An entry before the moment ends the walk.
      if (entry) return entry.timestamp < moment ? undefined : entry;
      // The walk has reached the start of the log, or the index has no room for earlier entries.
      if (after <= logIndex.lowest) return undefined;
      const [firstIndexed] = after < head.length ? await entries([after + 1]) : [];
      // Entries since the moment may lie before the indexed part: it is extended, and the walk repeated.
      if (!firstIndexed || firstIndexed.timestamp >= moment)
        throw new LogNotIndexed(Math.max(1, after + 1 - READ_BACK_SIZE));
      // All entries since the moment are indexed.
      return undefined;
    };
  };
  const isAboutTarget = (target: TargetKey) => (entry: AuditEntry) => {
    const facts = findTargetFacts(entry, target);
    // A failed rollback of a plan is about the targets that it restored, and not about the others.
    return facts !== undefined && (entry.event_type !== "change_rollback_failed" || isRolledBack(facts));
  };
  const walkType = (type: EventType): NextEntry => walk(nameQuery(type), ({ event_type }) => event_type === type);

  return {
    /** Index of the log as this process has read it. */
    logIndex,
    get length() {
      return head.length;
    },
    entries,
    /** Reads the entry with this id; undefined if the log has none. */
    async entry(id: unknown): Promise<AuditEntry | undefined> {
      return isEntryId(id) ? (await entries([id]))[0] : undefined;
    },
    /** As `entry`, without indexing the log back to it: an entry before the indexed part is checked only by its own hash. */
    async storedEntry(id: unknown): Promise<AuditEntry | undefined> {
      return isEntryId(id) ? (await get([id]))[0] : undefined;
    },
    /** Reads all entries about a change from an id on, oldest first. */
    entriesAbout: (changeId: string, from: number) =>
      listFrom(from, changeId, ({ change_id }) => change_id === changeId),
    /** Reads all entries of a type that names no change, from an id on, oldest first. */
    entriesOfType: (type: EventType, from: number) => listFrom(from, type, ({ event_type }) => event_type === type),
    /** Walks the indexed entries of a type that names no change. */
    walkType,
    /** Reads the last indexed entry of one of these types, which name no change. */
    async lastEntryOfType(...types: readonly EventType[]): Promise<AuditEntry | undefined> {
      let last: AuditEntry | undefined;
      for (const type of types) {
        const entry = await walkType(type)();
        if (entry && (!last || entry.id > last.id)) last = entry;
      }
      return last;
    },
    /** Walks the indexed entries with this relation to a target. */
    walkTarget: (relation: TargetRelation, target: TargetKey): NextEntry =>
      walk(targetQuery(relation, target), isAboutTarget(target)),
    /** Reads the newest entries with this relation to a target, in one read. */
    async newestAboutTarget(relation: TargetRelation, target: TargetKey, limit: number): Promise<AuditEntry[]> {
      const ids = await queryIds((after) =>
        takeFirst(logIndex.find(targetQuery(relation, target), head.length, after), limit),
      );
      return (await get(ids)).filter(isAboutTarget(target));
    },
    /** Finds the id of the last indexed entry that may be about each change; 0 for none. Reads only the index. */
    lastEntryIds: (changeIds: readonly string[]): Promise<number[]> =>
      queryIds((after) =>
        changeIds.map((id) => takeFirst(logIndex.find(nameQuery(id), head.length, after), 1)[0] ?? 0),
      ),
    /** Reads the indexed entries about these changes in one read, for later calls of `entriesAbout`. */
    async prefetchAbout(changeIds: readonly string[]): Promise<void> {
      const ids = await queryIds((after) =>
        changeIds.flatMap((id) => [...logIndex.find(nameQuery(id), head.length, after)]),
      );
      await get([...new Set(ids)]);
    },
    /** Walks the applies and rollbacks of a target since a moment. */
    walkOwnershipSince: (target: TargetKey, moment: string): NextEntry =>
      walkSince(targetQuery("held", target), isAboutTarget(target), moment),
    /** Walks the restores of a target since a moment. */
    walkRestoresSince: (target: TargetKey, moment: string): NextEntry =>
      walkSince(targetQuery("restored", target), isAboutTarget(target), moment),
    /** Reads the entries about a mandate from an id on, and all indexed ones, oldest first. */
    entriesAboutMandate: (mandateId: string, from = Infinity) =>
      listFrom(
        Math.max(1, Math.min(from, logIndex.after + 1)),
        mandateId,
        ({ event_type, detail }) => isMandateEvent(event_type) && parseMandateId(detail) === mandateId,
      ),
    /** Walks the consents of a mandate since a moment; without a moment, the indexed consents. */
    walkMandateConsents(name: string, moment?: string): NextEntry {
      const isConsent = createConsentTest(name);
      return moment === undefined
        ? walk(mandateConsentQuery(name), isConsent)
        : walkSince(mandateConsentQuery(name), isConsent, moment);
    },
    /** Reads the consents of a mandate from an id on, oldest first. */
    async consentsOfMandate(name: string, from: number): Promise<AuditEntry[]> {
      const ids = await queryIndex(from, () =>
        [...logIndex.find(mandateConsentQuery(name), head.length, from - 1)].reverse(),
      );
      return (await get(ids)).filter(createConsentTest(name));
    },
    /** Walks the proposals of minor changes since a moment. */
    walkMinorSince: (moment: string): NextEntry =>
      walkSince(MINOR_QUERY, ({ event_type }) => event_type === "change_proposed", moment),
  };
}

const createConsentTest =
  (name: string) =>
  ({ event_type, detail }: AuditEntry): boolean =>
    event_type === "consent_decision" && parseDetail(detail).approver === name;

const parseMandateId = (detail: string): string | undefined =>
  (parseDetail(detail) as unknown as MandateDetail).mandate_id;

function takeFirst(ids: Iterable<number>, limit: number): number[] {
  const taken: number[] = [];
  for (const id of ids) if (taken.push(id) === limit) break;
  return taken;
}

/** Runs verified reads of the log outside a transaction. */
export const consultLog = <T>(deps: LogDeps, run: (evidence: Evidence, head: ChainHead) => Promise<T>): Promise<T> =>
  runWithLog(deps, async () => {
    const { store, sha256, integrity } = deps;
    const head = (await readHead(store))!;
    return run(createEvidence(store, { logIndex: integrity.logIndex!, head, sha256 }), head);
  });
