/** Finds the newest entries of the log within a period, up to a limit. */
import { entryKey, readHead } from "../audit/chain.ts";
import type { EventType } from "../audit/entry.ts";
import { type Entry, parseEntry, findActor } from "../projections/entries.ts";
import { isListedName } from "../changes/rules/names.ts";
import { runWithScanLimit } from "../kit/semaphore.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import type { Store } from "../store/store.ts";

/** A query of entries; `from` is inclusive and `to` exclusive, both RFC 3339. */
export interface EventQuery {
  from?: string | undefined;
  to?: string | undefined;
  type?: EventType | undefined;
  tenant_id?: string | undefined;
  change_id?: string | undefined;
  /** The person, agent or part of the service that caused the event. */
  person?: string | undefined;
  /** Maximum number of returned entries. */
  limit: number;
}

/** Result of the query. */
export interface EventAnswer {
  /** The newest matching entries, oldest first. */
  entries: Entry[];
  /** Number of matches among the scanned entries, by type. */
  counts: Partial<Record<EventType, number>>;
  /** Number of matches of all types. */
  total: number;
  /** Number of scanned entries. */
  looked: number;
  /** False if the period has older entries that were not scanned. */
  complete: boolean;
}

/** Maximum number of entries of a period that are read, newest first. */
const MAX_SCANNED_ENTRIES = 20_000;
const ENTRIES_PER_SLICE = 500;

/** Answers a query from the log. */
export async function queryEvents(store: Store, query: EventQuery): Promise<EventAnswer> {
  const { limit, from, to } = query;
  const length = (await readHead(store))?.length ?? 0;
  const begin = from === undefined ? 0 : await countEntriesBefore(store, length, from);
  const end = to === undefined ? length : await countEntriesBefore(store, length, to);
  const answer: EventAnswer = {
    entries: [],
    counts: {},
    total: 0,
    looked: 0,
    complete: end - begin <= MAX_SCANNED_ENTRIES,
  };
  await runWithScanLimit(store, async () => {
    let last = end;
    while (last > begin && answer.looked < MAX_SCANNED_ENTRIES) {
      const first = Math.max(begin, last - ENTRIES_PER_SLICE, end - MAX_SCANNED_ENTRIES);
      const slice = await store.list("audit", { after: entryKey(first), limit: last - first });
      answer.looked += slice.length;
      for (const { value } of slice.toReversed()) {
        const entry = parseEntry(value);
        if (!matchesQuery(entry, query)) continue;
        answer.total++;
        answer.counts[entry.event_type] = (answer.counts[entry.event_type] ?? 0) + 1;
        if (answer.entries.length < limit) answer.entries.push(entry);
      }
      last = first;
      await yieldToEventLoop();
    }
  });
  answer.entries.reverse();
  return answer;
}

/** Counts the entries before a moment by binary search, since timestamps rise with ids. */
async function countEntriesBefore(store: Store, length: number, moment: string): Promise<number> {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const entry = (await store.get("audit", entryKey(middle + 1)))?.value;
    if (entry && entry.timestamp < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

const matchesQuery = (entry: Entry, { type, tenant_id, change_id, person }: EventQuery): boolean =>
  (type === undefined || type === entry.event_type) &&
  (tenant_id === undefined || tenant_id === entry.tenant) &&
  (change_id === undefined || change_id === entry.change_id) &&
  (person === undefined || isListedName(findActor(entry) ?? "", person));
