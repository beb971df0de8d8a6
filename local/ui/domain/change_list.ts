/** A long list of changes, read page by page, with what is new kept aside until it is asked for. */
import type { Change, RuntimePage } from "../core/api_types.ts";
import { get } from "../core/api.ts";

/** What was read so far. */
export interface Listed {
  changes: Change[];
  total: number;
  /** Where the next page begins; `null` at the end. */
  next: string | null;
  /** The newest audit entry that is taken into account. */
  heard: number;
}

/** Rows a reading. */
export const PAGE = 500;

/** Reads a page, newest first. */
export async function readPage(before: string | undefined, signal: AbortSignal): Promise<Listed> {
  const page = await get<RuntimePage>("api/product/runtime", { before, limit: PAGE, entries: 0 }, signal);
  return { changes: page.changes, total: page.total, next: page.next, heard: page.audit.length };
}

/** The list with the page after it. Rows that were read again meanwhile stay as they are now. */
export const withPage = (listed: Listed | undefined, page: Listed): Listed =>
  listed ? { ...page, changes: [...listed.changes, ...page.changes], heard: listed.heard } : page;
