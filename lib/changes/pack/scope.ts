/** The scope of a pack: one change, or the entries of a period with their changes. */
import { entryKey } from "../../audit/chain.ts";
import type { AuditEntry } from "../../audit/entry.ts";
import { readEntriesById } from "../../audit/page.ts";
import { readLogRows } from "../../audit/rows.ts";
import type { Store } from "../../store/store.ts";
import type { RecordedChange } from "../certificate.ts";
import { findChange, readRecords } from "../records.ts";
import { parseDetail } from "../rules/event.ts";

/** `from` belongs to the period, `to` does not; RFC 3339 in UTC with milliseconds. */
export type Scope = { change_id: string } | { from: string; to?: string | undefined };

/** An entry with its stored JSON text. */
export interface ScopedEntry {
  text: string;
  entry: AuditEntry;
}

const PAGE_SIZE = 100;
/** Changes that are read in one request: at 64 KB each, about a megabyte. */
const CHANGES_PER_READ = 20;

/** Yields the entries of a pack in order, page by page. */
export async function* readScopeEntries(store: Store, scope: Scope): AsyncGenerator<ScopedEntry[], undefined> {
  if ("change_id" in scope) {
    const { audit } = await findChange(store, scope.change_id);
    for (let begin = 0; begin < audit.length; begin += PAGE_SIZE)
      yield (await store.texts("audit", audit.slice(begin, begin + PAGE_SIZE).map(entryKey))).map(parseRow);
    return undefined;
  }
  for await (const rows of readLogRows(store)) {
    const scoped = rows.map(parseRow).filter(({ entry }) => isInScope(entry, scope));
    if (scoped.length > 0) yield scoped;
  }
  return undefined;
}

const isInScope = ({ timestamp }: AuditEntry, scope: Scope): boolean =>
  // `~` sorts after every timestamp.
  "change_id" in scope || (scope.from <= timestamp && timestamp < (scope.to ?? "~"));

const parseRow = ({ text }: { text: string }): ScopedEntry => ({ text, entry: JSON.parse(text) as AuditEntry });

/** Yields each change that the entries name, once, in its current state and with all its entries. */
export async function* readScopeChanges(store: Store, scope: Scope): AsyncGenerator<RecordedChange, undefined> {
  let begin: number | undefined;
  for await (const page of readScopeEntries(store, scope)) {
    begin ??= page[0]!.entry.id;
    const firstIdByChange = new Map<string, number>();
    for (const { entry } of page)
      if (entry.change_id !== "" && !firstIdByChange.has(entry.change_id))
        firstIdByChange.set(entry.change_id, entry.id);
    const changeIds = [...firstIdByChange.keys()];
    for (let start = 0; start < changeIds.length; start += CHANGES_PER_READ)
      for (const recorded of await readRecordedChanges(store, changeIds.slice(start, start + CHANGES_PER_READ))) {
        const { change, entries } = recorded;
        const firstId = firstIdByChange.get(change.change_id)!;
        // A change with an earlier entry in scope was yielded with an earlier page. Between
        // entries in scope there may be others, since timestamps go back if the clock was set back.
        const wasYielded = entries.some((entry) => begin! <= entry.id && entry.id < firstId && isInScope(entry, scope));
        if (!wasYielded) yield recorded;
      }
  }
  return undefined;
}

/** Reads the changes that have a record, with their entries. */
async function readRecordedChanges(store: Store, ids: readonly string[]): Promise<RecordedChange[]> {
  const records = (await readRecords(store, ids)).flatMap((record) => record ?? []);
  const entries = await readEntriesById(store, [...new Set(records.flatMap(({ audit }) => audit))]);
  const entryById = new Map(entries.map((entry) => [entry.id, entry]));
  return records.map(({ change, audit }) => ({ change, entries: audit.flatMap((id) => entryById.get(id) ?? []) }));
}

/** Lists the hashes of the intents that entries name. */
export const listIntents = (page: readonly ScopedEntry[]): string[] =>
  page.flatMap(({ entry }) => parseDetail(entry.detail).manifest_hash ?? []);
