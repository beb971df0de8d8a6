/** Restores of the cycle, under `policy.on_drift: restore`: only edits that this process saw come. */
import { AppError } from "../kit/errors.ts";
import { restoreValue } from "./commands/restore.ts";
import type { ChangesDeps } from "./deps.ts";
import { driftMemory, forgetPlace } from "./drift_memory.ts";
import { readRecord } from "./records.ts";
import { verifyPlace } from "./verify_place.ts";

/** How long values are restored in one cycle. */
const LIMIT_MS = 30_000;

/** Errors after which a change is not restored by the cycle: it holds its value again, or no longer owns its place. */
const FINAL: ReadonlySet<string> = new Set(["illegal_transition", "change_not_found"]);

/** Restores the values whose edit was reported by a cycle before, and returns how many. */
export async function restoreEdited(deps: ChangesDeps): Promise<number> {
  const { clock, product, log } = deps;
  const memory = driftMemory(deps);
  if (!memory || product?.intent.policy.on_drift !== "restore") return 0;
  const end = clock.now() + LIMIT_MS;
  let restored = 0;
  for (const change_id of [...memory.edited]) {
    if (clock.now() >= end) break;
    if (!(await isReported(deps, change_id))) continue;
    try {
      await restoreValue({ deps }, { change_id });
      restored++;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      // A freeze holds back all of them.
      if (error.code === "frozen") break;
      if (FINAL.has(error.code)) memory.edited.delete(change_id);
      else log.warn("a value could not be restored", { change_id, code: error.code, error: error.message });
    }
  }
  return restored;
}

/** Returns true where an edit is on record and its place is not contested; otherwise the edit is reported first. */
async function isReported(deps: ChangesDeps, changeId: string): Promise<boolean> {
  const { store, clock } = deps;
  const episode = (await store.get("drift", changeId))?.value;
  if (episode) return !episode.contested_until || clock.now() >= Date.parse(episode.contested_until);
  const change = (await readRecord(store, changeId))?.change;
  if (change?.status === "applied") await deps.mutex(changeId, () => verifyPlace(deps, { change, episode }));
  else forgetPlace(deps, changeId);
  return false;
}
