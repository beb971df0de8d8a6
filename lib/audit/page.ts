/** Pages of the log. A page costs what it shows, however long the log is. */
import type { Store } from "../store/store.ts";
import { entryKey, readHead } from "./chain.ts";
import type { AuditEntry, EventType } from "./entry.ts";

const SCANNED_A_PAGE = 5000;

/** Which entries, and from where: `before` and `after` are entry ids, exclusive. */
export interface AuditQuery {
  limit: number;
  before?: number | undefined;
  after?: number | undefined;
  order?: "asc" | "desc" | undefined;
  /** Only these, in chain order. */
  ids?: readonly number[] | undefined;
  tenant?: string | undefined;
  event_type?: EventType | undefined;
}

/** `next` is the id to give as `after` (when `after` was given) or `before` (otherwise) for the next page, or `null`. */
export interface AuditPage {
  entries: AuditEntry[];
  next: number | null;
  length: number;
  head: string;
  origin: string;
}

/** The newest entries before `before`, or those after `after`; in chain order unless `order=desc`. */
export async function auditPage(store: Store, query: AuditQuery): Promise<AuditPage> {
  const head = await readHead(store);
  if (!head) return { entries: [], next: null, length: 0, head: "", origin: "" };
  const found = query.ids ? await among(store, query, query.ids) : await scan(store, query, head.length);
  const newestFirst = query.order === "desc";
  const entries = found.entries.sort((a, b) => (newestFirst ? b.id - a.id : a.id - b.id));
  return { entries, next: found.next, length: head.length, head: head.head, origin: head.origin };
}

interface Found {
  entries: AuditEntry[];
  next: number | null;
}

/** Without a filter the page is read; with one, at most 5,000 entries are looked at. */
async function scan(store: Store, query: AuditQuery, length: number): Promise<Found> {
  const forward = query.after !== undefined;
  const filtered = query.tenant !== undefined || query.event_type !== undefined;
  const looked = filtered ? SCANNED_A_PAGE : query.limit;
  const end = Math.min(query.before ?? Infinity, length + 1);
  const from = forward ? entryKey(query.after!) : entryKey(end);
  const page = await store.list("audit", { after: from, limit: looked, reverse: !forward });
  const matching = page.map(({ value }) => value).filter((entry) => entry.id < end && matches(entry, query));
  const entries = matching.slice(0, query.limit);
  const last = matching.length > query.limit ? entries.at(-1)!.id : page.at(-1)?.value.id;
  const more = last !== undefined && page.length > 0 && (forward ? last + 1 < end : last > 1);
  return { entries, next: more ? last : null };
}

async function among(store: Store, query: AuditQuery, all: readonly number[]): Promise<Found> {
  const forward = query.after !== undefined;
  const ids = all.filter((id) => id > (query.after ?? 0) && id < (query.before ?? Infinity));
  const chosen = forward ? ids.slice(0, query.limit) : ids.slice(-query.limit);
  const entries = await entriesOf(store, chosen);
  const rest = ids.length > chosen.length;
  return {
    entries: entries.filter((entry) => matches(entry, query)),
    next: rest ? (forward ? chosen.at(-1)! : chosen[0]!) : null,
  };
}

/** The entries with these ids, in their order. */
export async function entriesOf(store: Pick<Store, "getMany">, ids: readonly number[]): Promise<AuditEntry[]> {
  const found = await store.getMany("audit", ids.map(entryKey));
  return found.flatMap((stored) => (stored ? [stored.value] : []));
}

const matches = (entry: AuditEntry, { tenant, event_type }: AuditQuery): boolean =>
  (tenant === undefined || entry.tenant === tenant) && (event_type === undefined || entry.event_type === event_type);

/** The whole chain in order, one entry a line; memory stays flat, and a reader that goes away ends it. */
export function auditExport(store: Store, pageSize = 1000): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let after = 0;
  return new ReadableStream({
    async pull(controller) {
      const page = await store.list("audit", { after: entryKey(after), limit: pageSize });
      if (page.length > 0)
        controller.enqueue(encoder.encode(page.map(({ value }) => `${JSON.stringify(value)}\n`).join("")));
      after = page.at(-1)?.value.id ?? after;
      if (page.length < pageSize) controller.close();
    },
  });
}
