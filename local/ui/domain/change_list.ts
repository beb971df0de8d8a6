/** A long list of changes, read page by page, with what is new kept aside until it is asked for. */
import type { Change, RuntimePage } from "../core/api_types.ts";
import { get } from "../core/api.ts";

/** What a list is narrowed by, under the names that the address and the service know it by. */
export const FILTERS = ["text", "status", "tenant_id", "person", "kind", "risk", "from", "to"] as const;
export type Filter = Readonly<Record<(typeof FILTERS)[number], string>>;

/** What was read so far. */
export interface Listed {
  changes: Change[];
  /** As the service counts: under nothing but a tenant it counts the status alone. */
  total: number;
  /** Where the next page begins; `null` at the end. */
  next: string | null;
  /** The newest audit entry that is taken into account. */
  heard: number;
}

/** Rows a reading. */
export const PAGE = 500;

/** The filter that an address holds. */
export const filterOf = (query: URLSearchParams): Filter =>
  Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""])) as Filter;

/** Whether the service looks for changes under this filter, and counts those that fit. */
export const isSearch = (filter: Filter): boolean =>
  FILTERS.some((name) => name !== "status" && name !== "tenant_id" && filter[name] !== "");

/** Reads a page. It may hold nothing and still have a next one. */
export async function readPage(
  filter: Filter,
  { before, limit = PAGE, signal }: { before?: string | undefined; limit?: number; signal: AbortSignal },
): Promise<Listed> {
  const days = { from: startOf(filter.from, 0), to: startOf(filter.to, 1) };
  const query = { ...filter, ...days, before, limit, entries: 0 };
  const page = await get<RuntimePage>("api/product/runtime", query, signal);
  return { changes: page.changes, total: page.total, next: page.next, heard: page.audit.length };
}

/** When a day begins for the reader, or one some days after it; what is no day begins never. */
function startOf(day: string, later: number): string | undefined {
  const start = new Date(`${day}T00:00`);
  if (Number.isNaN(start.getTime())) return undefined;
  start.setDate(start.getDate() + later);
  return start.toISOString();
}

/** The list with the page after it. Rows that were read again meanwhile stay as they are now. */
export const withPage = (listed: Listed | undefined, page: Listed): Listed =>
  listed ? { ...page, changes: [...listed.changes, ...page.changes], heard: listed.heard } : page;
