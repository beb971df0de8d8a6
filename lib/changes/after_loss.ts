/** Going on after a person accepted that the end of the log is lost: each process reads the log again, as at a start. */
import type { AuditDeps } from "../audit/deps.ts";
import { readHead } from "../audit/chain.ts";
import { hasValidHash } from "../audit/entry_hash.ts";
import { longestKnownEnd, findNewLoss, rememberEnd } from "../audit/known_end.ts";
import { verifyNewestEntries } from "../audit/verify.ts";
import { findSubjects } from "./subjects.ts";

type LossDeps = Pick<AuditDeps, "store" | "sha256" | "integrity" | "log" | "mutex">;

/** The newest entries that are verified before writes go on; the rest is read when a decision needs it. */
const RECENT_ENTRIES = 1000;

/** Goes on where an accepted loss was recorded that this process does not know; resolves to whether one was. */
export async function adoptAcceptedLoss(deps: LossDeps): Promise<boolean> {
  const { store, integrity, sha256, log } = deps;
  const entry = await findNewLoss(store, integrity);
  if (!entry || !hasValidHash(entry, sha256) || (await store.get("meta", "breach"))) return false;
  log.warn("goes on from an accepted loss of the log's end", {
    entry: entry.id,
    known: longestKnownEnd(integrity) ?? null,
  });
  await deps.mutex("after_loss", () => reloadLog(deps));
  return true;
}

/** Reads the newest entries, where a process that was started on a broken log has read none. */
export const verifyRecentEntries = (deps: LossDeps): Promise<void> =>
  verifyNewestEntries(deps, { count: RECENT_ENTRIES, subjectsOf: findSubjects });

/** Forgets what was read before the loss, and reads the log as it is now. */
async function reloadLog(deps: LossDeps): Promise<void> {
  const { store, integrity } = deps;
  const head = (await readHead(store))!;
  if (head.loss?.head === integrity.knownEnd?.loss?.head) return;
  delete integrity.breach;
  delete integrity.lastPass;
  delete integrity.scan;
  delete integrity.drift;
  await verifyRecentEntries(deps);
  rememberEnd(integrity, head);
}
