/** Reads the log again, as at a start, in each process after a person accepted that the end of the log is lost. */
import type { AuditDeps } from "../audit/deps.ts";
import { readHead } from "../audit/chain.ts";
import { hasValidHash } from "../audit/entry_hash.ts";
import { longestKnownEnd, findNewLoss, rememberEnd } from "../audit/known_end.ts";
import { verifyNewestEntries } from "../audit/verify.ts";
import { findSubjects } from "./subjects.ts";

type LossDeps = Pick<AuditDeps, "store" | "sha256" | "integrity" | "log" | "mutex">;

/** Number of the newest entries that are verified before writes continue; the rest is read when a decision needs it. */
const RECENT_ENTRIES = 1000;

/** Reads the log again if a loss was accepted that this process does not know yet. Returns true if so. */
export async function adoptAcceptedLoss(deps: LossDeps): Promise<boolean> {
  const { store, integrity, sha256, log } = deps;
  const entry = await findNewLoss(store, integrity);
  // Accepting a loss deletes the stored breach, so a breach that is stored now was found later.
  if (!entry || !hasValidHash(entry, sha256) || (await store.get("meta", "breach"))) return false;
  log.warn("goes on from an accepted loss of the log's end", {
    entry: entry.id,
    known: longestKnownEnd(integrity) ?? null,
  });
  await deps.mutex("after_loss", () => reloadLog(deps));
  return true;
}

/** Verifies the newest entries, for a process that started on a broken log and has indexed nothing. */
export const verifyRecentEntries = (deps: LossDeps): Promise<void> =>
  verifyNewestEntries(deps, { count: RECENT_ENTRIES, findSubjects });

/** Drops the data that was read before the loss, and reads the log as it is now. */
async function reloadLog(deps: LossDeps): Promise<void> {
  const { store, integrity } = deps;
  const head = (await readHead(store))!;
  // A concurrent call has reloaded the log already.
  if (head.loss?.head === integrity.knownEnd?.loss?.head) return;
  delete integrity.breach;
  delete integrity.lastPass;
  delete integrity.scan;
  delete integrity.drift;
  await verifyRecentEntries(deps);
  rememberEnd(integrity, head);
}
