/** Going on after a person accepted that the end of the log is lost: each process reads the log again, as at a start. */
import type { AuditDeps } from "../audit/deps.ts";
import { readHead } from "../audit/chain.ts";
import { hasValidHash } from "../audit/entry_hash.ts";
import { longestKnownEnd, findNewLoss, rememberEnd } from "../audit/known_end.ts";
import { verifyNewestEntries } from "../audit/verify.ts";
import { findSubjects } from "./subjects.ts";

type Losing = Pick<AuditDeps, "store" | "sha256" | "integrity" | "log" | "mutex">;

/** The newest entries that are verified before writes go on; the rest is read when a decision needs it. */
const TAIL = 1000;

/** Goes on where an accepted loss was recorded that this process does not know; resolves to whether one was. */
export async function learnOfLoss(deps: Losing): Promise<boolean> {
  const { store, integrity, sha256, log } = deps;
  const entry = await findNewLoss(store, integrity);
  if (!entry || !hasValidHash(entry, sha256) || (await store.get("meta", "breach"))) return false;
  log.warn("goes on from an accepted loss of the log's end", {
    entry: entry.id,
    known: longestKnownEnd(integrity) ?? null,
  });
  await deps.mutex("after_loss", () => goOn(deps));
  return true;
}

/** Reads the newest entries, where a process that was started on a broken log has read none. */
export const readTail = (deps: Losing): Promise<void> =>
  verifyNewestEntries(deps, { count: TAIL, subjectsOf: findSubjects });

/** Forgets what was read before the loss, and reads the log as it is now. */
async function goOn(deps: Losing): Promise<void> {
  const { store, integrity } = deps;
  const head = (await readHead(store))!;
  if (head.loss?.head === integrity.knownEnd?.loss?.head) return;
  delete integrity.breach;
  delete integrity.lastPass;
  delete integrity.scan;
  delete integrity.drift;
  await readTail(deps);
  rememberEnd(integrity, head);
}
