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
}

/** Rows a reading. */
export const PAGE = 500;

/** Reads the page after what was read. A page may hold nothing and still have a next one. */
export async function readOn(filter: Filter, listed: Listed | undefined, signal: AbortSignal): Promise<Listed> {
  const before = listed?.next ?? undefined;
  const page = await get<RuntimePage>("api/product/runtime", { ...filter, before, limit: PAGE }, signal);
  return { changes: [...(listed?.changes ?? []), ...page.changes], total: page.total, next: page.next };
}

/** Whether a change holds all the words that are looked for. */
export function holds(change: Change, text: string): boolean {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return true;
  const { change_id, tenant_id, target, summary, proposer, kind, approver } = change;
  const all = [change_id, tenant_id, target, summary, proposer ?? "", kind, approver ?? ""].join("\n").toLowerCase();
  return wanted.every((word) => all.includes(word));
}
