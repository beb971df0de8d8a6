/** Checks audit entries in the browser, without trusting the service. */
import { FIRST_PREVIOUS_HASH, hasValidHash } from "../../../lib/audit/entry_hash.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import type { AuditEntry } from "../core/api_types.ts";

/** Returns true if the hash of an entry matches its content. */
export const hasOwnHash = (entry: AuditEntry): boolean => hasValidHash(entry, portableSha256);

/** The last valid entry. */
export interface Link {
  origin: string;
  id: number;
  hash: string;
}

/** The last valid entry, the number of valid ones, and the first invalid one. */
export interface CheckResult {
  last: Link | undefined;
  count: number;
  fault: { id: number; reason: string } | undefined;
}

/** Checks that entries follow the link `before` in chain order, without gaps. */
export function checkEntries(entries: readonly AuditEntry[], before: Link | undefined): CheckResult {
  let last = before;
  let count = 0;
  for (const entry of entries) {
    const reason = findEntryFault(entry, last);
    if (reason !== undefined) return { last, count, fault: { id: entry.id, reason } };
    last = { origin: entry.origin, id: entry.id, hash: entry.current_hash };
    count++;
  }
  return { last, count, fault: undefined };
}

function findEntryFault(entry: AuditEntry, last: Link | undefined): string | undefined {
  if (!hasOwnHash(entry)) return "its content does not give its hash";
  if (entry.id === 1 && entry.previous_hash !== FIRST_PREVIOUS_HASH) return "the first entry has something before it";
  if (last === undefined) return undefined;
  if (entry.id !== last.id + 1) return `it follows entry ${last.id}; entries are missing or out of order`;
  if (entry.origin !== last.origin) return "it belongs to another log";
  return entry.previous_hash === last.hash ? undefined : `it is not linked to entry ${last.id}`;
}
