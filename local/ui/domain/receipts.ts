/** Receipts of the log, stored in this browser, by which removed entries at its end or a rewritten log are noticed. */
import type { AuditEntry } from "../core/api_types.ts";
import { lastReceipt } from "../core/session.ts";

/** A receipt: the log of `origin` once had `length` entries, and `head` was the hash of the last. */
export interface Receipt {
  origin: string;
  length: number;
  head: string;
}

/** Stores an entry as receipt unless a newer one of the same log is stored. */
export function storeReceipt(entry: AuditEntry | null | undefined): void {
  if (!entry) return;
  const stored = findReceipt(entry.origin);
  if (!stored || stored.length < entry.id) lastReceipt.set(`${entry.origin} ${entry.id} ${entry.current_hash}`);
}

/** Returns the stored receipt of this log, if there is one. */
export function findReceipt(origin: string): Receipt | undefined {
  const [stored, length, head] = lastReceipt.get().split(" ");
  return stored === origin && head ? { origin, length: Number(length), head } : undefined;
}
