/**
 * Reads as much of the log into its index as a decision needs. Each entry is verified against its indexed neighbour. The index
 * covers the entries after `after`. It has two ends: transactions, which may fail, move the `tentative` end; reads outside of them
 * move the `durable` end.
 */
import { yieldToEventLoop } from "../kit/event_loop.ts";
import type { Reads, Store } from "../store/store.ts";
import { type ChainHead, entryKey, readHead } from "./chain.ts";
import type { AuditDeps } from "./deps.ts";
import { hasValidHash } from "./entry_hash.ts";
import type { LogIndex } from "./log_index.ts";
import { readSlice } from "./read_slice.ts";
import { brokenLogError, rewrittenLogError, shortenedLogError } from "./tree.ts";

/** Entries read before yielding to the event loop, which takes some milliseconds. */
const ENTRIES_PER_SLICE = 250;
/** Maximum number of entries read within a transaction. */
export const MAX_READ_IN_TRANSACTION = 250;

/** The index lacks entries that a decision needs. The caller reads them outside the transaction and repeats the decision. */
export class LogNotIndexed extends Error {
  override readonly name = "LogNotIndexed";
  /** `from`: the first entry that is needed. */
  constructor(readonly from: number) {
    super(`the log was not read from entry ${from} on`);
  }
}

/** Within a transaction: indexes newer entries, and requires that the log is indexed from an entry on. Errors: `LogNotIndexed`. */
export async function requireIndexed(
  reads: Pick<Reads, "list">,
  { logIndex, head, sha256 }: { logIndex: LogIndex; head: ChainHead; sha256: AuditDeps["sha256"] },
  from: number,
): Promise<void> {
  // A shorter log is examined outside the transaction: the read may be old, or the log's end was cut off.
  if (head.length < logIndex.durable.length) throw new LogNotIndexed(from);
  if (!logIndex.covers(head)) {
    // The index read entries at or beyond the head in transactions that failed; without them it ends at `durable`.
    if (logIndex.tentative.length >= head.length) logIndex.reset();
    const after = logIndex.tentative.length;
    const limit = head.length - after;
    if (limit < 0 || limit > MAX_READ_IN_TRANSACTION) throw new LogNotIndexed(from);
    const entries = limit === 0 ? [] : await reads.list("audit", { after: entryKey(after), limit });
    const isNext = entries.every(({ value }) => hasValidHash(value, sha256) && logIndex.append(value));
    if (!isNext) logIndex.reset();
    if (!isNext || logIndex.tentative.head !== head.head) throw new LogNotIndexed(from);
  }
  // At its lowest, the index has no room for earlier entries, so repeating the decision would not help.
  if (from <= logIndex.after && logIndex.after > logIndex.lowest) throw new LogNotIndexed(from);
}

/**
 * Outside transactions: indexes the log up to its end and back to `from`, and verifies entry `from` again. Errors: `LogBroken`
 * if the log does not continue the entries that were read before.
 */
export const extendLogIndex = (deps: Pick<AuditDeps, "store" | "sha256" | "mutex">, logIndex: LogIndex, from: number) =>
  deps.mutex("read_log", () => readAndVerify(deps, logIndex, from));

async function readAndVerify({ store, sha256 }: Pick<AuditDeps, "store" | "sha256">, logIndex: LogIndex, from: number) {
  const known = logIndex.durable;
  const head = await readHead(store);
  if (!head || head.length < known.length) throw shortenedLogError(known, head);
  if (head.length === known.length && head.head !== known.head) throw shortenedLogError(known, head);
  await readForward(store, sha256, logIndex, head);
  await readBackward(store, sha256, logIndex, from);
  // Entries after the durable end, which transactions have read, may not be stored yet.
  if (from <= logIndex.after || from > logIndex.durable.length) return;
  const entry = (await store.get("audit", entryKey(from)))?.value;
  if (entry?.id !== from || !hasValidHash(entry, sha256) || !logIndex.hasEntry(entry)) throw rewrittenLogError(from);
}

/** Indexes entries from the durable end to the head. */
async function readForward(
  store: Store,
  sha256: AuditDeps["sha256"],
  logIndex: LogIndex,
  head: ChainHead,
): Promise<void> {
  while (logIndex.durable.length < head.length) {
    const after = logIndex.durable.length;
    const slice = await readSlice(store, after, Math.min(ENTRIES_PER_SLICE, head.length - after));
    for (const [index, entry] of slice.entries()) {
      const id = after + index + 1;
      if (!entry) throw brokenLogError(id, "the entry is missing or cannot be read");
      if (entry.id !== id || !hasValidHash(entry, sha256) || !logIndex.confirm(entry))
        throw brokenLogError(id, "it does not continue the entries before it");
    }
    await yieldToEventLoop();
  }
}

/** Indexes earlier entries down to `from`, or as far as the index has room. */
async function readBackward(
  store: Store,
  sha256: AuditDeps["sha256"],
  logIndex: LogIndex,
  from: number,
): Promise<void> {
  const end = Math.max(0, from - 1, logIndex.lowest);
  if (logIndex.after <= end) return;
  let expected = await readExpectedHash(store, logIndex);
  while (logIndex.after > end) {
    const after = Math.max(end, logIndex.after - ENTRIES_PER_SLICE);
    const slice = await readSlice(store, after, logIndex.after - after);
    for (const [index, entry] of [...slice.entries()].reverse()) {
      if (!entry) throw brokenLogError(after + index + 1, "the entry is missing or cannot be read");
      if (entry.current_hash !== expected || !hasValidHash(entry, sha256))
        throw brokenLogError(after + index + 1, "the entries after it were not made for it");
      expected = entry.previous_hash;
      logIndex.fill(entry);
    }
    logIndex.extendTo(after);
    await yieldToEventLoop();
  }
}

/** Returns the hash that the entry before the first indexed one must have. */
async function readExpectedHash(store: Store, { after, durable, hasEntry }: LogIndex): Promise<string> {
  if (after === durable.length) return durable.head;
  const lowest = (await store.get("audit", entryKey(after + 1)))?.value;
  if (!lowest || !hasEntry(lowest)) throw rewrittenLogError(after + 1);
  return lowest.previous_hash;
}
