/** Repeats a decision that needs more of the log than was read, once that part is read. */
import type { AuditDeps } from "../audit/deps.ts";
import type { Breach } from "../audit/integrity.ts";
import { LogNotContinued, requireKnownEnd } from "../audit/known_end.ts";
import { LogNotIndexed, extendLogIndex } from "../audit/read_log.ts";
import { LogBroken } from "../audit/tree.ts";
import { requireLogEnd } from "../audit/verify.ts";
import { reportBreach } from "../audit/report_breach.ts";
import { AppError } from "../kit/errors.ts";
import { adoptAcceptedLoss } from "./after_loss.ts";
import { RevisionConflict, StoreBusy } from "../store/store.ts";

/** Dependencies of reading the log. */
export type LogDeps = Pick<AuditDeps, "store" | "sha256" | "integrity" | "log" | "mutex">;

/** More than any log needs on which other processes do not write without end. */
const MAX_ATTEMPTS = 1000;

/** Runs what may need the log, as often as there is more of it to read. Errors: 503 `chain_broken`. */
export async function runWithLog<T>(deps: LogDeps, run: () => Promise<T>): Promise<T> {
  for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
    try {
      return await run();
    } catch (error) {
      const isAboutLog = [RevisionConflict, LogNotContinued, LogNotIndexed].some((kind) => error instanceof kind);
      if (isAboutLog && (await adoptAcceptedLoss(deps))) continue;
      // An entry can be in the way only where somebody put it.
      if (error instanceof RevisionConflict) await reportIfBroken(deps, requireLogEnd(deps));
      if (error instanceof LogNotContinued) await reportIfBroken(deps, requireKnownEnd(deps.store, deps.integrity));
      else if (!(error instanceof LogNotIndexed)) throw error;
      else await reportIfBroken(deps, extendLogIndex(deps, deps.integrity.logIndex!, error.from));
    }
  }
  throw new StoreBusy("other processes wrote to the log each time that it was read");
}

async function reportIfBroken(deps: LogDeps, check: Promise<void>): Promise<void> {
  try {
    await check;
  } catch (error) {
    if (!(error instanceof LogBroken)) throw error;
    // The loss may have been accepted during the look.
    if (await adoptAcceptedLoss(deps)) return;
    await reportBreach(deps, error.breach);
    requireIntactChain(error.breach);
  }
}

/** 503 `chain_broken`. */
export function requireIntactChain(breach: Breach | undefined): void {
  if (!breach) return;
  throw new AppError(
    "chain_broken",
    `the audit chain does not hold at entry ${breach.first_invalid}; writes are refused until it is restored`,
    { ...breach },
  );
}
