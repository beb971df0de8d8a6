/** Receipts: what this browser keeps of the log, so that a cut tail or a full rewrite shows. */
import type { AuditEntry } from "../core/api_types.ts";
import { lastReceipt } from "../core/session.ts";

/** A receipt: the log of `origin` once had `length` entries, and `head` was the hash of the last. */
export interface Receipt {
  origin: string;
  length: number;
  head: string;
}

/** Keeps the newest receipt of a log. */
export function keepReceipt(entry: AuditEntry | null): void {
  if (!entry) return;
  const kept = receiptFor(entry.origin);
  if (!kept || kept.length < entry.id) lastReceipt.set(`${entry.origin} ${entry.id} ${entry.current_hash}`);
}

/** Returns the stored receipt of this log, if there is one. */
export function receiptFor(origin: string): Receipt | undefined {
  const [kept, length, head] = lastReceipt.get().split(" ");
  return kept === origin && head ? { origin, length: Number(length), head } : undefined;
}
