/** A long list of changes, read page by page, with what is new kept aside until it is asked for. */
import type { Change, RuntimePage } from "../core/api_types.ts";
import { get } from "../core/api.ts";

/** What is listed. */
export interface Filter {
  status: string;
  tenant_id: string;
}

/** What was read so far. */
export interface Listed {
  changes: Change[];
  /** As the service counts; with a tenant it counts the status alone. */
  total: number;
  /** Where the next page begins; `null` at the end. */
  next: string | null;
  /** The newest audit entry that is taken into account. */
  heard: number;
}

/** Rows a reading. */
export const PAGE = 500;

/** Reads a page. It may hold nothing and still have a next one. */
export async function readPage(filter: Filter, before: string | undefined, signal: AbortSignal): Promise<Listed> {
  const page = await get<RuntimePage>("api/product/runtime", { ...filter, before, limit: PAGE }, signal);
  return { changes: page.changes, total: page.total, next: page.next, heard: page.audit.length };
}

/** The list with the page after it. Rows that were read again meanwhile stay as they are now. */
export const withPage = (listed: Listed | undefined, page: Listed): Listed =>
  listed ? { ...page, changes: [...listed.changes, ...page.changes], heard: listed.heard } : page;

/** Whether a change holds all the words that are looked for. */
export function holds(change: Change, text: string): boolean {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return true;
  const { change_id, tenant_id, target, summary, proposer, kind, approver } = change;
  const all = [change_id, tenant_id, target, summary, proposer ?? "", kind, approver ?? ""].join("\n").toLowerCase();
  return wanted.every((word) => all.includes(word));
}
