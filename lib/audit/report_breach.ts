/** Reports a broken log to every process on its store. */
import type { Reads } from "../store/store.ts";
import type { AuditDeps } from "./deps.ts";
import type { Breach, Integrity, LostEnd } from "./integrity.ts";
import { longestKnownEnd, findNewLoss } from "./known_end.ts";
import type { LogEnd } from "./log_index.ts";

declare module "../store/store.ts" {
  interface Meta {
    breach: StoredBreach;
  }
}

/** `meta/breach`. `known`: the end of the log that the reporting process knew; `noticed`: people were notified. */
export interface StoredBreach extends Breach {
  known: LostEnd | null;
  noticed?: true;
}

type ReportDeps = Pick<AuditDeps, "store" | "integrity" | "log">;

/**
 * Stores a breach, so that every process rejects writes. It is ignored if a loss was accepted that this process does not know
 * yet, which may explain it. `isCurrent`: the breach was found in the current log alone, so no loss can explain it.
 */
export async function reportBreach(
  { store, integrity, log }: ReportDeps,
  breach: Breach,
  {
    known = findKnownEnd(integrity),
    isCurrent = false,
  }: { known?: LostEnd | null | undefined; isCurrent?: boolean } = {},
): Promise<void> {
  if (integrity.breach) return;
  integrity.breach = breach;
  try {
    const isReported = await store.transact(async (tx) => {
      if (!isCurrent && (await findNewLoss(tx, integrity))) return false;
      const stored = (await tx.get("meta", "breach"))?.value;
      // The longest end that any process knew is stored: it is the loss that a person accepts.
      if (!stored) tx.put("meta", "breach", { ...breach, known });
      else if ((known?.length ?? 0) > (stored.known?.length ?? 0)) tx.put("meta", "breach", { ...stored, known });
      return true;
    });
    if (!isReported) return void delete integrity.breach;
    log.error("audit chain broken", { ...breach });
  } catch (error) {
    log.error("audit chain broken", { ...breach });
    // This process rejects writes all the same.
    log.warn("the breach was not reported to other processes", { error: String(error) });
  }
}

function findKnownEnd(integrity: Integrity): LogEnd | null {
  const known = longestKnownEnd(integrity);
  return known ? { length: known.length, head: known.head } : null;
}

/** Adopts the stored breach that another process found. */
export async function adoptStoredBreach(
  { integrity }: Pick<AuditDeps, "integrity">,
  reads: Pick<Reads, "get">,
): Promise<void> {
  const stored = (await reads.get("meta", "breach"))?.value;
  if (stored) integrity.breach ??= { first_invalid: stored.first_invalid, reason: stored.reason };
}
