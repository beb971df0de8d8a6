/** Reading the log as far as a decision needs it, each entry checked and linked to one that is known. */
import { yieldToEventLoop } from "../kit/event_loop.ts";
import type { Reads, Store } from "../store/store.ts";
import { type ChainHead, entryKey, readHead } from "./chain.ts";
import type { AuditDeps } from "./deps.ts";
import { isSound } from "./entry_hash.ts";
import type { Outline } from "./outline.ts";
import { readSlice } from "./read_slice.ts";
import { broken, rewritten, wentBack } from "./tree.ts";

/** Entries between two turns of the event loop: some milliseconds. */
const SLICE = 250;
/** Maximum number of entries read within a transaction. */
const MOST_WITHIN = 250;

/** The log was not read as far as a decision needs it: it is read, outside the transaction, and the decision runs again. */
export class NotRead extends Error {
  override readonly name = "NotRead";
  /** `from`: the entry from which on it is needed. */
  constructor(readonly from: number) {
    super(`the log was not read from entry ${from} on`);
  }
}

/** Within a transaction: takes in what came since, and makes sure that the log was read from an entry on. Errors: `NotRead`. */
export async function requireRead(
  reads: Pick<Reads, "list">,
  { outline, head, sha256 }: { outline: Outline; head: ChainHead; sha256: AuditDeps["sha256"] },
  from: number,
): Promise<void> {
  // An end before what was durable is looked at outside: a reader may be late, or the tail was cut.
  if (head.length < outline.durable.length) throw new NotRead(from);
  if (!outline.reaches(head)) {
    if (outline.seen.length >= head.length) outline.reset();
    const { seen } = outline;
    if (head.length < seen.length || head.length > seen.length + MOST_WITHIN) throw new NotRead(from);
    const limit = head.length - seen.length;
    const entries = limit === 0 ? [] : await reads.list("audit", { after: entryKey(seen.length), limit });
    const isNext = entries.every(({ value }) => isSound(value, sha256) && outline.append(value));
    if (!isNext) outline.reset();
    if (!isNext || outline.seen.head !== head.head) throw new NotRead(from);
  }
  if (from <= outline.after && outline.after > outline.lowest) throw new NotRead(from);
}

/**
 * Outside transactions: reads on from what is known up to the log's end, then back to `from`, and looks at the entry there
 * again. Errors: `LogBroken` where the log does not continue what was read of it.
 */
export const readLog = (deps: Pick<AuditDeps, "store" | "sha256" | "mutex">, outline: Outline, from: number) =>
  deps.mutex("read_log", () => read(deps, outline, from));

async function read({ store, sha256 }: Pick<AuditDeps, "store" | "sha256">, outline: Outline, from: number) {
  const known = outline.durable;
  const head = await readHead(store);
  if (!head || head.length < known.length) throw wentBack(known, head);
  if (head.length === known.length && head.head !== known.head) throw wentBack(known, head);
  await readOn(store, sha256, outline, head);
  await readBack(store, sha256, outline, from);
  // Entries beyond that, which transactions saw, may not be durable yet.
  if (from <= outline.after || from > outline.durable.length) return;
  const entry = (await store.get("audit", entryKey(from)))?.value;
  if (entry?.id !== from || !isSound(entry, sha256) || !outline.isAsRead(entry)) throw rewritten(from);
}

/** Reads on from what was durable. Transactions of this process go on meanwhile, and what they saw may never be. */
async function readOn(store: Store, sha256: AuditDeps["sha256"], outline: Outline, head: ChainHead): Promise<void> {
  for (let after; (after = outline.durable.length) < head.length; await yieldToEventLoop()) {
    const slice = await readSlice(store, after, Math.min(SLICE, head.length - after));
    for (const [index, entry] of slice.entries()) {
      const id = after + index + 1;
      if (!entry) throw broken(id, "the entry is missing or cannot be read");
      if (entry.id !== id || !isSound(entry, sha256) || !outline.confirm(entry))
        throw broken(id, "it does not continue the entries before it");
    }
  }
}

/** Reads back to an entry, as far as an outline holds entries. */
async function readBack(store: Store, sha256: AuditDeps["sha256"], outline: Outline, from: number): Promise<void> {
  const end = Math.max(0, from - 1, outline.lowest);
  if (outline.after <= end) return;
  let expected = await hashBefore(store, outline);
  while (outline.after > end) {
    const after = Math.max(end, outline.after - SLICE);
    const slice = await readSlice(store, after, outline.after - after);
    for (const [index, entry] of [...slice.entries()].reverse()) {
      if (!entry) throw broken(after + index + 1, "the entry is missing or cannot be read");
      if (entry.current_hash !== expected || !isSound(entry, sha256))
        throw broken(after + index + 1, "the entries after it were not made for it");
      expected = entry.previous_hash;
      outline.fill(entry);
    }
    outline.reachTo(after);
    await yieldToEventLoop();
  }
}

/** The hash that the entry below the lowest one must have. */
async function hashBefore(store: Store, { after, durable, isAsRead }: Outline): Promise<string> {
  if (after === durable.length) return durable.head;
  const lowest = (await store.get("audit", entryKey(after + 1)))?.value;
  if (!lowest || !isAsRead(lowest)) throw rewritten(after + 1);
  return lowest.previous_hash;
}
