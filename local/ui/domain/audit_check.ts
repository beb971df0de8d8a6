/** Checks audit entries in the browser, without trusting the service. */
import { FIRST_PREVIOUS_HASH, hasValidHash } from "../../../lib/audit/entry_hash.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import type { AuditEntry, AuditPage } from "../core/api_types.ts";
import { get } from "../core/api.ts";

/** Returns true if the hash of an entry matches its content. */
export const hasOwnHash = (entry: AuditEntry): boolean => hasValidHash(entry, portableSha256);

/** An entry to which the next one must be linked. */
interface Link {
  origin: string;
  id: number;
  hash: string;
}

/** The last valid entry, the number of valid ones, and the first invalid one. */
interface CheckResult {
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
  if (!hasOwnHash(entry)) return "its hash does not match its content";
  if (entry.id === 1 && entry.previous_hash !== FIRST_PREVIOUS_HASH)
    return "it is the first entry, but names an earlier one";
  if (last === undefined) return undefined;
  if (entry.id !== last.id + 1) return `entry ${last.id} comes before it: entries are missing or out of order`;
  if (entry.origin !== last.origin) return "it comes from another log";
  return entry.previous_hash === last.hash ? undefined : `its previous hash is not the hash of entry ${last.id}`;
}

const PAGE_SIZE = 1000;

/** The first entry to check, a receipt to compare with, and a listener for progress. */
export interface Walk {
  from: number;
  signal: AbortSignal;
  onProgress: (checked: number, total: number) => void;
  /** The id and hash of an entry that the log must have, from a receipt. */
  receipt?: { id: number; hash: string } | undefined;
}

/** Checks the entries from `from` to the newest, page by page. Errors: `AbortError` when the signal aborts. */
export async function walkChain(walk: Walk): Promise<CheckResult & { length: number }> {
  const { from, signal, onProgress, receipt } = walk;
  let last: Link | undefined;
  let count = 0;
  let after = from - 1;
  for (;;) {
    const page = await get<AuditPage>("api/product/audit", { after, limit: PAGE_SIZE }, signal);
    const { length } = page;
    // Entries that were appended while the service read the page are beyond its `length`.
    const entries = page.entries.filter(({ id }) => id <= length);
    const checked = checkEntries(entries, last);
    const fault = checked.fault ?? findMissing(entries, after) ?? findReplaced(entries, receipt);
    count += checked.count;
    onProgress(count, length - from + 1);
    last = checked.last;
    if (fault) return { last, count, fault, length };
    after = entries.at(-1)?.id ?? after;
    if (after >= length) return { last, count, fault: findRemoved(length, receipt), length };
    if (entries.length === 0) return { last, count, fault: { id: after + 1, reason: NOT_RETURNED }, length };
  }
}

const NOT_RETURNED = "the service did not return it";

function findMissing(entries: readonly AuditEntry[], after: number): CheckResult["fault"] {
  const first = entries[0];
  return first && first.id !== after + 1 ? { id: after + 1, reason: NOT_RETURNED } : undefined;
}

/** Finds the fault that the entry of the receipt has another hash than the receipt. */
function findReplaced(entries: readonly AuditEntry[], receipt: Walk["receipt"]): CheckResult["fault"] {
  const entry = receipt && entries.find(({ id }) => id === receipt.id);
  if (!entry || entry.current_hash === receipt.hash) return undefined;
  return { id: entry.id, reason: "its hash differs from this browser's receipt of it: the log was rewritten" };
}

/** Finds the fault that the log ends before the entry of the receipt. */
function findRemoved(length: number, receipt: Walk["receipt"]): CheckResult["fault"] {
  if (!receipt || receipt.id <= length) return undefined;
  const reason = `this browser has its receipt, but the log has only ${length} entries: its tail was cut`;
  return { id: receipt.id, reason };
}
