/** Reads a slice of the log from the store, bypassing any cache. */
import { isDamage, type Store } from "../store/store.ts";
import { entryKey } from "./chain.ts";
import type { AuditEntry } from "./entry.ts";

/**
 * Reads the entries after an id, up to the first that is missing or damaged, which is returned as undefined. If the page is
 * incomplete, the entries are read one by one to find the damaged one. The error of any other failed read (EIO, ENOMEM, a store
 * that does not answer) is passed on, since it says nothing about the log.
 */
export async function readSlice(
  store: Pick<Store, "get" | "list">,
  after: number,
  limit: number,
): Promise<(AuditEntry | undefined)[]> {
  const page = await store.list("audit", { after: entryKey(after), limit, uncached: true }).catch(undefinedIfDamaged);
  if (page?.length === limit) return page.map(({ value }) => value);
  const entries: (AuditEntry | undefined)[] = [];
  for (let id = after + 1; id <= after + limit; id++) {
    const entry = await store.get("audit", entryKey(id)).catch(undefinedIfDamaged);
    entries.push(entry?.value);
    if (!entry) break;
  }
  return entries;
}

function undefinedIfDamaged(error: unknown): undefined {
  if (!isDamage(error)) throw error;
}
