/** Declares the reads of every governed decision. */
import { type ChainHead, entryKey } from "../audit/chain.ts";
import type { Integrity } from "../audit/integrity.ts";
import { longestKnownEnd } from "../audit/known_end.ts";
import { MAX_READ_IN_TRANSACTION } from "../audit/read_log.ts";
import type { Reads } from "../store/store.ts";

/** Reads the records that every governed decision needs: the end of the log, and entries that this process has not indexed. */
export async function prefetchLog(reads: Reads, integrity: Integrity): Promise<void> {
  const { length = 0 } = longestKnownEnd(integrity) ?? {};
  const [[chain]] = await Promise.all([
    reads.getMany("meta", ["chain", "breach", "intent", "targets"]),
    length > 0 && reads.get("audit", entryKey(length)),
  ]);
  const indexed = integrity.logIndex?.tentative.length ?? 0;
  const missing = ((chain?.value as ChainHead | undefined)?.length ?? 0) - indexed;
  // A transaction does not read more entries: it is repeated after they were indexed outside.
  if (missing > 0 && missing <= MAX_READ_IN_TRANSACTION)
    await reads.list("audit", { after: entryKey(indexed), limit: missing });
}
