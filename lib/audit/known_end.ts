/** Remembers the end of the log that this process knows: a valid log only grows from there. */
import type { Reads } from "../store/store.ts";
import { type ChainHead, entryKey, readHead } from "./chain.ts";
import type { AuditEntry } from "./entry.ts";
import type { Integrity, KnownEnd } from "./integrity.ts";
import type { LogEnd } from "./log_index.ts";
import { shortenedLogError } from "./tree.ts";

/** The log that a transaction reads does not continue the end that this process knows. */
export class LogNotContinued extends Error {
  override readonly name = "LogNotContinued";
}

/** Returns the longest end that this process knows. */
export function longestKnownEnd({ knownEnd, logIndex }: Integrity): KnownEnd | undefined {
  const indexEnd = logIndex?.durable;
  if (!indexEnd || (knownEnd && knownEnd.length >= indexEnd.length)) return knownEnd;
  return { ...indexEnd, at: knownEnd?.at ?? "", loss: knownEnd?.loss };
}

/** Remembers the end that a decision committed, or the durable end that it was based on. */
export function rememberEnd(integrity: Integrity, { length, head, at, loss }: ChainHead): void {
  const { knownEnd } = integrity;
  // After an accepted loss the log may be shorter than the known end.
  if (!knownEnd || length >= knownEnd.length || loss?.head !== knownEnd.loss?.head)
    integrity.knownEnd = { length, head, at, loss };
}

/** Within a transaction: requires that the log continues its known end. Errors: `LogNotContinued`. */
export async function requireContinued(
  reads: Pick<Reads, "get">,
  { integrity, head }: { integrity: Integrity; head: ChainHead },
): Promise<void> {
  const known = longestKnownEnd(integrity);
  if (!known) return;
  if (head.loss?.head !== known.loss?.head) throw new LogNotContinued();
  const { logIndex } = integrity;
  const isIndexed = head.length > known.length && logIndex?.hasEntry({ id: known.length, current_hash: known.head });
  // The index shows the continuation without a read, also for a head of earlier decisions that are not durable yet.
  if (isIndexed && logIndex!.covers(head)) return;
  if (!(await isContinuation(reads, known, head))) throw new LogNotContinued();
}

/** Outside transactions: requires that the log continues its known end. Errors: `LogBroken`. */
export async function requireKnownEnd(reads: Pick<Reads, "get">, integrity: Integrity): Promise<void> {
  const known = longestKnownEnd(integrity);
  if (!known) return;
  const head = await readHead(reads);
  // Later heads keep an accepted loss, so a head without it is that of an older copy.
  if (!head || (known.loss && !head.loss) || !(await isContinuation(reads, known, head)))
    throw shortenedLogError(known, head);
}

/**
 * Returns the entry of an accepted loss that this process does not know yet, and that makes its knowledge of the log obsolete.
 * A loss older than the known end is ignored, since a log that was set back may end with one.
 */
export async function findNewLoss(
  reads: Pick<Reads, "get">,
  { knownEnd }: Pick<Integrity, "knownEnd">,
): Promise<AuditEntry | undefined> {
  const { loss } = (await readHead(reads)) ?? {};
  if (!loss || loss.head === knownEnd?.loss?.head) return undefined;
  const entry = (await reads.get("audit", entryKey(loss.length)))?.value;
  if (entry?.current_hash !== loss.head || entry.event_type !== "loss_accepted") return undefined;
  return entry.timestamp >= (knownEnd?.at ?? "") ? entry : undefined;
}

async function isContinuation(reads: Pick<Reads, "get">, known: LogEnd, head: LogEnd): Promise<boolean> {
  if (known.length === 0) return true;
  if (head.length < known.length) return false;
  // Read even if the log has not grown: `prefetchLog` declares this read as one that the decision certainly makes.
  const read = reads.get("audit", entryKey(known.length));
  if (head.length > known.length) return (await read)?.value.current_hash === known.head;
  await read.catch(() => undefined);
  return head.head === known.head;
}
