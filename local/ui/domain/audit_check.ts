/** Checks audit entries in the browser, without trusting the service. */
import { FIRST_PREVIOUS_HASH, hasValidHash } from "../../../lib/audit/entry_hash.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import type { AuditEntry, AuditPage } from "../core/api_types.ts";
import { get } from "../core/api.ts";

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

const PAGE_SIZE = 1000;

/** Range of entries, a receipt to compare with, and a listener for progress. */
export interface Walk {
  /** The first entry to check. */
  from: number;
  /** The last entry; absent: the newest. */
  to?: number;
  signal: AbortSignal;
  onProgress: (checked: number, total: number) => void;
  /** The entry that must stand at this id with this hash, from a receipt. */
  expect?: { id: number; hash: string } | undefined;
}

/** Checks the entries. Errors: `AbortError` when the signal aborts. */
export async function walkChain(props: Walk): Promise<CheckResult & { length: number }> {
  const { from, to, signal, onProgress, expect } = props;

  let last: Link | undefined;
  let count = 0;
  let after = from - 1;
  let length = to ?? Infinity;
  for (;;) {
    const page = await get<AuditPage>("api/product/audit", { after, limit: PAGE_SIZE }, signal);
    length = Math.min(to ?? page.length, page.length);
    const entries = page.entries.filter(({ id }) => id <= length);
    const run = checkEntries(entries, last);
    const fault = run.fault ?? findMissing(entries, after) ?? findUnexpected(entries, expect);
    count += run.count;
    onProgress(count, length - from + 1);
    if (fault) return { last: run.last, count, fault, length };
    last = run.last;
    after = entries.at(-1)?.id ?? after;
    if (entries.length === 0 || after >= length) break;
  }
  const cut = after < length ? { id: after + 1, reason: "the service does not show it" } : undefined;
  const lost =
    expect && expect.id > length && to === undefined
      ? { id: expect.id, reason: `it was there once, but the log has only ${length} entries: its tail was cut` }
      : undefined;
  return { last, count, fault: cut ?? lost, length };
}

function findMissing(entries: readonly AuditEntry[], after: number): CheckResult["fault"] {
  const first = entries[0];
  return first && first.id !== after + 1 ? { id: after + 1, reason: "the service does not show it" } : undefined;
}

function findUnexpected(entries: readonly AuditEntry[], expect: Walk["expect"]): CheckResult["fault"] {
  const entry = expect && entries.find(({ id }) => id === expect.id);
  if (!entry || entry.current_hash === expect.hash) return undefined;
  return { id: entry.id, reason: "it is not the entry this browser was given a receipt for: the log was rewritten" };
}
