/** Walks the log page by page and checks it in the browser, however long it is. */
import type { AuditEntry, AuditPage } from "../core/api_types.ts";
import { get } from "../core/api.ts";
import { type CheckResult, checkEntries, type Link } from "./audit_check.ts";

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
