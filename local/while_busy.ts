/** A start waits while other processes keep a shared store busy, and says so. */
import type { Log } from "../lib/kit/platform.ts";
import { type Pacing, systemPacing } from "../lib/store/engine/pacing.ts";
import { StoreBusy } from "../lib/store/store.ts";

/** A supervisor starts the process again where this is not enough. */
const MAX_BUSY_MS = 60_000;
/** Each try of a store has pauses of its own. */
const PAUSE_MS = 500;

/** Does work again while the store is busy, for a minute. Errors: those of the work, and one that says what to do then. */
export async function whileBusy<T>(
  work: () => Promise<T>,
  log: Pick<Log, "warn">,
  clock: Pacing["clock"] = systemPacing.clock,
): Promise<T> {
  const end = clock.now() + MAX_BUSY_MS;
  for (;;) {
    try {
      return await work();
    } catch (cause) {
      if (!(cause instanceof StoreBusy)) throw cause;
      if (clock.now() >= end)
        throw new Error(
          `other processes kept the store busy for ${MAX_BUSY_MS / 1000} s; start again, with fewer processes on the store or at a time of less load`,
          { cause },
        );
      log.warn("the store is busy; the start tries again", { reason: cause.message });
      await clock.sleep(PAUSE_MS);
    }
  }
}
