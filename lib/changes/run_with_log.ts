/** Runs a function that reads the log. If the index lacks entries that it needs, loads them and runs the function again. */
import type { AuditDeps } from "../audit/deps.ts";
import type { Breach } from "../audit/integrity.ts";
import { LogNotContinued, requireKnownEnd } from "../audit/known_end.ts";
import { LogNotIndexed, extendLogIndex } from "../audit/read_log.ts";
import { LogBroken } from "../audit/tree.ts";
import { requireLogEnd } from "../audit/verify.ts";
import { reportBreach } from "../audit/report_breach.ts";
import { AppError } from "../kit/errors.ts";
import { adoptAcceptedLoss } from "./reload_after_loss.ts";
import { RevisionConflict, StoreBusy } from "../store/store.ts";

export type LogDeps = Pick<AuditDeps, "store" | "sha256" | "integrity" | "log" | "mutex">;

/** Enough for any log, unless other processes keep writing to it. */
const MAX_ATTEMPTS = 1000;

/**
 * Runs a function, and runs it again after loading entries that it lacked. Errors: 503 `chain_broken`.
 */
export async function runWithLog<T>(deps: LogDeps, run: () => Promise<T>): Promise<T> {
  for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
    try {
      return await run();
    } catch (error) {
      const isAboutLog = [RevisionConflict, LogNotContinued, LogNotIndexed].some((kind) => error instanceof kind);
      if (isAboutLog && (await adoptAcceptedLoss(deps))) continue;
      if (error instanceof LogNotContinued) {
        await reportIfBroken(deps, requireKnownEnd(deps.store, deps.integrity));
      } else if (error instanceof LogNotIndexed) {
        await reportIfBroken(deps, extendLogIndex(deps, deps.integrity.logIndex!, error.from));
      } else {
        // The id of a new entry exists already: entries were written after the head.
        if (error instanceof RevisionConflict) await reportIfBroken(deps, requireLogEnd(deps));
        throw error;
      }
    }
  }
  throw new StoreBusy("other processes wrote to the log each time that it was read");
}

async function reportIfBroken(deps: LogDeps, check: Promise<void>): Promise<void> {
  try {
    await check;
  } catch (error) {
    if (!(error instanceof LogBroken)) throw error;
    // The loss may have been accepted during the check.
    if (await adoptAcceptedLoss(deps)) return;
    await reportBreach(deps, error.breach);
    requireIntactChain(error.breach);
  }
}

/** Requires that the chain is not known to be broken. Errors: 503 `chain_broken`. */
export function requireIntactChain(breach: Breach | undefined): void {
  if (!breach) return;
  throw new AppError(
    "chain_broken",
    `the audit chain does not hold at entry ${breach.first_invalid}; writes are refused until it is restored`,
    { ...breach },
  );
}
