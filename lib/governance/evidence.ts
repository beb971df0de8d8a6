/** What the log itself tells at the moment it is used: entries that hash to what was read of them, and none left out. */
import { type ChainHead, entryKey, readHead } from "../audit/chain.ts";
import { type AuditEntry, type EventType, isSound } from "../audit/entry.ts";
import type { Outline, Sought } from "../audit/outline.ts";
import { NotRead, requireRead } from "../audit/read_log.ts";
import type { Sha256 } from "../kit/platform.ts";
import type { Reads } from "../store/store.ts";
import { reading, type Reading } from "./reading.ts";
import { minor, named } from "./subjects.ts";

/** So many entries are read at a time where it is not known how many are needed. */
const STRETCH = 4096;

/** The log as a decision may rely on it. */
export type Evidence = ReturnType<typeof evidenceOf>;

/** Errors of all its members: `NotRead`, for the transaction to be begun anew when the log was read. */
export function evidenceOf(
  reads: Pick<Reads, "getMany" | "list">,
  log: { outline: Outline; head: ChainHead; sha256: Sha256 },
) {
  const { outline, head, sha256 } = log;

  /** The entries with these ids, of which the lowest stands first. */
  const entries = async (ids: readonly number[]): Promise<AuditEntry[]> => {
    if (ids.length === 0) return [];
    await requireRead(reads, log, ids[0]!);
    const stored = await reads.getMany("audit", ids.map(entryKey));
    return stored.map((kept, index) => {
      const id = ids[index]!;
      const entry = kept?.value;
      // What lies before all that is held is taken at its own word.
      if (entry?.id !== id || !isSound(entry, sha256) || (id > outline.after && !outline.isAsRead(entry)))
        throw new NotRead(id);
      return entry;
    });
  };

  /** The ids from one on under which a subject may be found. */
  const found = async (sought: Sought, from: number): Promise<number[]> => {
    await requireRead(reads, log, from);
    // Somebody who reads beside this may have let go of it again.
    if (!outline.reaches(head)) throw new NotRead(from);
    return outline.find(sought, from - 1, head.length);
  };

  return {
    entries,
    /** The entry with this id; undefined where the log has none. */
    async entry(id: unknown): Promise<AuditEntry | undefined> {
      const isOne = typeof id === "number" && Number.isInteger(id) && id >= 1 && id <= head.length;
      return isOne ? (await entries([id]))[0] : undefined;
    },
    /** All entries about a change from an id on, the lowest first. */
    async about(changeId: string, from: number): Promise<AuditEntry[]> {
      const told = await entries(await found(named(changeId), from));
      return told.filter(({ change_id }) => change_id === changeId);
    },
    /** The newest entries of a type that is about no change, newest first, as far as the log was read; it may be left early. */
    async *newest(type: EventType): AsyncGenerator<AuditEntry> {
      for (const id of (await found(named(type), outline.after + 1)).reverse()) {
        const [entry] = await entries([id]);
        if (entry!.event_type === type) yield entry!;
      }
    },
    /** The last entry of one of these types, of those that are about no change, as far as the log was read. */
    async lastOf(...types: readonly EventType[]): Promise<AuditEntry | undefined> {
      const from = outline.after + 1;
      const ids = [];
      for (const type of types) ids.push(...(await found(named(type), from)));
      for (const id of ids.sort((a, b) => b - a)) {
        const [entry] = await entries([id]);
        if (types.includes(entry!.event_type)) return entry;
      }
      return undefined;
    },
    /** The minor changes since a moment, newest first; it may be left early. */
    async *minorSince(moment: string): AsyncGenerator<AuditEntry> {
      for (const id of (await found(minor, outline.after + 1)).reverse()) {
        const [entry] = await entries([id]);
        if (entry!.timestamp < moment) return;
        if (entry!.event_type === "change_proposed") yield entry!;
      }
      if (outline.after <= outline.lowest) return;
      const [lowest] = outline.after < head.length ? await entries([outline.after + 1]) : [];
      if (!lowest || lowest.timestamp >= moment) throw new NotRead(Math.max(1, outline.after + 1 - STRETCH));
    },
  };
}

/** What the log tells to somebody who decides nothing. */
export const consulting = <T>(deps: Reading, run: (evidence: Evidence) => Promise<T>): Promise<T> =>
  reading(deps, async () => {
    const { store, sha256, integrity } = deps;
    const head = await readHead(store);
    return run(evidenceOf(store, { outline: integrity.outline!, head: head!, sha256 }));
  });
