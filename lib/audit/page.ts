/** Reads pages of the log. The cost of a page does not depend on the log's length. */
import { gather } from "../kit/gather.ts";
import { runWithScanLimit } from "../kit/semaphore.ts";
import { countTextBytes } from "../store/engine/write_set.ts";
import { Json } from "../store/json.ts";
import type { Store, Text } from "../store/store.ts";
import { entryKey, readCurrentHead } from "./chain.ts";
import type { AuditDeps } from "./deps.ts";
import type { AuditEntry, EventType } from "./entry.ts";

const MAX_SCANNED_PER_PAGE = 5000;

/** Filters and position of a page: `before` and `after` are entry ids, exclusive. */
export interface AuditQuery {
  limit: number;
  before?: number | undefined;
  after?: number | undefined;
  order?: "asc" | "desc" | undefined;
  /** Only entries with these ids, in chain order. */
  ids?: readonly number[] | undefined;
  tenant?: string | undefined;
  event_type?: EventType | undefined;
  /** Selects the entries that the caller may see. */
  select?: ((entries: readonly AuditEntry[]) => Promise<readonly AuditEntry[]>) | undefined;
}

/** A page. `next`: the `after` of the next page if the query had `after`, else the `before`; `null` on the last page. */
export interface AuditPage {
  entries: AuditEntry[];
  next: number | null;
  length: number;
  head: string;
  origin: string;
}

/** A page whose entries are JSON text, parsed only if their value is read. */
export type AuditPageText = Omit<AuditPage, "entries"> & { entries: Json<AuditEntry[]> };

/**
 * Reads the newest entries before `before`, or those after `after`, in chain order unless `order` is `desc`. A page
 * ends with the entry that reaches 1 MiB (`gather`); with a filter, at most 5,000 entries are read.
 */
export async function readAuditPage(
  deps: Pick<AuditDeps, "store" | "requestCache">,
  query: AuditQuery,
): Promise<AuditPageText> {
  const { store } = deps;
  const chain = await readCurrentHead(deps);
  if (!chain) return { entries: new Json("[]"), next: null, length: 0, head: "", origin: "" };
  const { origin, length, head } = chain;
  const { limit, ids, after, before = Infinity } = query;
  const isForward = after !== undefined;
  const { select } = query;
  const isFiltered = query.tenant !== undefined || query.event_type !== undefined || select !== undefined;
  const end = Math.min(before, length + 1);
  // Only a forward page can reach rows beyond `end`: a backward one starts there.
  const takesEveryRow = !isFiltered && !(isForward && query.before !== undefined);
  const isWanted = (row: Row): boolean =>
    !row.isHidden && parseEntryId(row) < end && (!isFiltered || matchesQuery(row, query));
  const gathering = {
    limit,
    maxScanned: isFiltered ? MAX_SCANNED_PER_PAGE : limit,
    read: hideUnselected(select, ids ? listByIds(store, ids, query) : listInOrder(store, after ?? end, !isForward)),
    isWanted: takesEveryRow ? undefined : isWanted,
  };
  const { rows, last: lastRow } = isFiltered
    ? await runWithScanLimit(store, () => gather(gathering))
    : await gather(gathering);
  const last = lastRow && parseEntryId(lastRow);
  const isRemaining = (id: number): boolean => id < end && (isForward ? id > last! : id < last!);
  // Without ids, rows remain if the next entry of the log is in range or, backwards, until entry 1 was read.
  const hasMore = last !== undefined && (ids ? ids.some(isRemaining) : isRemaining(isForward ? last + 1 : 1));
  // Rows were read in ascending order if `isForward`, else in descending order.
  if (isForward === (query.order === "desc")) rows.reverse();
  const entries = new Json<AuditEntry[]>(`[${rows.map(({ text }) => text).join()}]`);
  return { entries, next: hasMore ? last : null, length, head, origin };
}

type Row = Text & { size: number; isHidden?: boolean };
type ReadRows = (last: Row | undefined, limit: number) => Promise<Row[]>;

/** Sets `isHidden` on rows that `select` does not return. */
function hideUnselected(select: AuditQuery["select"], read: ReadRows): ReadRows {
  if (!select) return read;
  return async (last, limit) => {
    const rows = await read(last, limit);
    const selected = await select(rows.map(({ text }) => JSON.parse(text) as AuditEntry));
    const selectedIds = new Set(selected.map(({ id }) => id));
    return rows.map((row) => ({ ...row, isHidden: !selectedIds.has(parseEntryId(row)) }));
  };
}

const parseEntryId = ({ id }: Text): number => Number(id);

const addSizes = (rows: readonly Text[]): Row[] =>
  rows.map(({ id, text }) => ({ id, text, size: countTextBytes(text) }));

const listInOrder =
  (store: Store, from: number, reverse: boolean) =>
  async (last: Row | undefined, limit: number): Promise<Row[]> =>
    addSizes(await store.texts("audit", { after: last?.id ?? entryKey(from), limit, reverse }));

function listByIds(store: Store, ids: readonly number[], { after, before }: AuditQuery) {
  const remaining = ids.filter((id) => id > (after ?? 0) && id < (before ?? Infinity));
  if (after === undefined) remaining.reverse();
  // Each call takes the next ids, so the position after the last row is not needed.
  return async (_: unknown, limit: number): Promise<Row[]> =>
    addSizes(await store.texts("audit", remaining.splice(0, limit).map(entryKey)));
}

/** Reads `limit` entries after an id, bypassing any cache. Errors: an Error if one is missing. */
export async function readLaterEntries(
  store: Pick<Store, "list">,
  after: number,
  limit: number,
): Promise<AuditEntry[]> {
  const slice = await store.list("audit", { after: entryKey(after), limit, uncached: true });
  const gap = slice.findIndex(({ value }, index) => value.id !== after + index + 1);
  if (gap !== -1 || slice.length < limit)
    throw new Error(`audit entry ${after + 1 + (gap === -1 ? slice.length : gap)} is missing from the store`);
  return slice.map(({ value }) => value);
}

/** Reads the entries with these ids, in the order of the ids; missing ones are left out. */
export async function readEntriesById(store: Pick<Store, "getMany">, ids: readonly number[]): Promise<AuditEntry[]> {
  const found = await store.getMany("audit", ids.map(entryKey));
  return found.flatMap((stored) => (stored ? [stored.value] : []));
}

function matchesQuery({ text }: Text, { tenant, event_type }: AuditQuery): boolean {
  const entry = JSON.parse(text) as AuditEntry;
  return (
    (tenant === undefined || entry.tenant === tenant) && (event_type === undefined || entry.event_type === event_type)
  );
}
