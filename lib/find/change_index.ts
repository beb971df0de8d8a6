/**
 * Keeps the changes of a store as rows in memory. They are read once and then updated from the entries of the log, since every
 * step of a change is an entry. Beyond a maximum number of rows, each query reads the oldest changes from the store.
 */
import { entryKey, readCurrentHead } from "../audit/chain.ts";
import type { AuditDeps } from "../audit/deps.ts";
import { canRead, type RestrictedReader } from "../changes/rules/reader.ts";
import { isRecord } from "../changes/rules/record.ts";
import { parseRecord } from "../changes/rules/stored_record.ts";
import { runWithScanLimit } from "../kit/semaphore.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import type { Store, Text } from "../store/store.ts";
import { type Row, makeRow } from "./row.ts";

/** Maximum number of rows in memory, and of characters of the records that they are made of. */
const MAX_ROWS = 50_000;
const MAX_CHARACTERS = 64 * 1024 * 1024;
/** Number of records read in one page. */
const RECORDS_PER_READ = 500;
/** Number of rows that are made or tested before yielding to the event loop, within a few milliseconds. */
export const SLICE = 100;
/** Maximum growth of the log that is applied to cached rows; after more entries, all rows are read again. */
const MAX_ENTRIES_BEHIND = 5000;

/** Rows as of one moment, newest first. */
export interface Rows {
  /** The reader for whom the rows were selected; absent: all rows. */
  reader?: RestrictedReader | undefined;
  rows: readonly Row[];
  /** Changes with ids below this one are only in the store; undefined if all are in memory. */
  rest: string | undefined;
}

interface CachedRows extends Rows {
  length: number;
  head: string;
}

/** The rows of each store as its newest refresh returns them. */
const cache = new WeakMap<Store, Promise<CachedRows>>();

type IndexDeps = Pick<AuditDeps, "store" | "requestCache"> & { reader?: RestrictedReader | undefined };

/** Visible rows by name of the reader, for each list of rows; lists are immutable. */
const rowsByReader = new WeakMap<Rows, Map<string, Rows>>();

/** Returns the rows as of the end of the log, limited to those that the reader may see. */
export async function readCurrentRows(deps: IndexDeps): Promise<Rows> {
  const all = await readAllRows(deps);
  const { reader } = deps;
  if (!reader) return all;
  const byReader = rowsByReader.get(all) ?? new Map<string, Rows>();
  rowsByReader.set(all, byReader);
  const rows = byReader.get(reader.name) ?? {
    ...all,
    reader,
    rows: all.rows.filter(({ change }) => canRead(reader, change)),
  };
  byReader.set(reader.name, rows);
  return rows;
}

async function readAllRows(deps: Pick<AuditDeps, "store" | "requestCache">): Promise<Rows> {
  const { store } = deps;
  const chain = await readCurrentHead(deps);
  const [length, head] = [chain?.length ?? 0, chain?.head ?? ""];
  const previous = cache.get(store);
  const updateRows = async (): Promise<CachedRows> => {
    // Refreshes run one after another: each continues from the rows of the previous one.
    const last = await previous?.catch(() => undefined);
    if (last?.head === head) return last;
    const isContinuation = last !== undefined && last.length < length;
    return refresh(store, isContinuation ? last : undefined, { length, head });
  };
  const next = updateRows();
  cache.set(store, next);
  next.catch(() => cache.get(store) === next && cache.delete(store));
  return next;
}

/** Reads all rows in slices, newest first, and yields to the event loop between slices. */
export async function* readSlices(store: Store, { rows, rest, reader }: Rows): AsyncGenerator<readonly Row[]> {
  for (let begin = 0; begin < rows.length; begin += SLICE) {
    if (begin > 0) await yieldToEventLoop();
    yield rows.slice(begin, begin + SLICE);
  }
  if (rest === undefined) return;
  for await (const slice of readStoredRows(store, rest)) yield slice.filter(({ change }) => canRead(reader, change));
}

/** Lists the ids of matching changes that the reader may see, newest first. */
export async function listMatchingIds(deps: IndexDeps, matches: (change: Row["change"]) => boolean): Promise<string[]> {
  return runWithScanLimit(deps.store, async () => {
    const ids: string[] = [];
    for await (const slice of readSlices(deps.store, await readCurrentRows(deps)))
      for (const { change } of slice) if (matches(change)) ids.push(change.change_id);
    return ids;
  });
}

/** Reads the stored changes before an id, newest first, in slices; `characters` is the length of a slice's records. */
async function* readStoredRows(
  store: Store,
  before: string | undefined,
): AsyncGenerator<Row[] & { characters: number }> {
  for (let after = before; ;) {
    const page = await store.texts("changes", {
      ...(after !== undefined && { after }),
      reverse: true,
      limit: RECORDS_PER_READ,
    });
    for (let begin = 0; begin < page.length; begin += SLICE, await yieldToEventLoop()) {
      const part = page.slice(begin, begin + SLICE);
      const characters = part.reduce((sum, { text }) => sum + text.length, 0);
      yield Object.assign(part.flatMap(parseRow), { characters });
    }
    if (page.length < RECORDS_PER_READ) return;
    after = page.at(-1)!.id;
  }
}

/** Makes the row of a stored record; empty for a malformed record. */
function parseRow(text: Text): Row[] {
  const record = parseRecord(text);
  return isRecord(record) ? [makeRow(record.change)] : [];
}

async function refresh(
  store: Store,
  last: CachedRows | undefined,
  chain: Pick<CachedRows, "length" | "head">,
): Promise<CachedRows> {
  const changed = last && (await listChangedIds(store, last, chain.length));
  if (!changed) return { ...(await loadRows(store)), ...chain };
  const rows = [...last.rows];
  let { rest } = last;
  // A change below `rest` has no row: queries read it from the store.
  const ids = [...changed].filter((id) => rest === undefined || id >= rest);
  for (let begin = 0; begin < ids.length; begin += SLICE, await yieldToEventLoop()) {
    const part = ids.slice(begin, begin + SLICE);
    const newRows = new Map(
      (await store.texts("changes", part)).flatMap(parseRow).map((row) => [row.change.change_id, row]),
    );
    for (const id of part) updateRow(rows, id, newRows.get(id));
  }
  if (rows.length > MAX_ROWS) {
    rows.length = MAX_ROWS;
    rest = rows.at(-1)!.change.change_id;
  }
  return { rows, rest, ...chain };
}

/** Lists the changes with new entries; undefined if the log does not continue the cached rows, or grew by too much. */
async function listChangedIds(
  store: Store,
  { length, head }: CachedRows,
  end: number,
): Promise<Set<string> | undefined> {
  if (end - length > MAX_ENTRIES_BEHIND || length === 0) return undefined;
  const ids = new Set<string>();
  // Begins with the last entry that the cached rows contain, whose hash shows whether the log continues them.
  for (let after = length - 1; after < end;) {
    const page = await store.list("audit", { after: entryKey(after), limit: Math.min(RECORDS_PER_READ, end - after) });
    if (after === length - 1 && page[0]?.value.current_hash !== head) return undefined;
    for (const { value } of page) if (value.change_id !== "") ids.add(value.change_id);
    if (page.length === 0) return undefined;
    after += page.length;
    await yieldToEventLoop();
  }
  return ids;
}

/** Inserts or replaces the row with this id in rows of descending ids, or removes it if `row` is undefined. */
function updateRow(rows: Row[], id: string, row: Row | undefined): void {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]!.change.change_id > id) low = middle + 1;
    else high = middle;
  }
  const isPresent = rows[low]?.change.change_id === id;
  rows.splice(low, isPresent ? 1 : 0, ...(row ? [row] : []));
}

async function loadRows(store: Store): Promise<Rows> {
  const rows: Row[] = [];
  let characters = 0;
  for await (const slice of readStoredRows(store, undefined)) {
    rows.push(...slice);
    characters += slice.characters;
    if (rows.length >= MAX_ROWS || characters > MAX_CHARACTERS) return { rows, rest: rows.at(-1)?.change.change_id };
  }
  return { rows, rest: undefined };
}
