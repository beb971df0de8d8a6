/** Retries a start while other processes keep a shared store busy. */
import type { Log } from "../lib/kit/platform.ts";
import { type Pacing, systemPacing } from "../lib/store/engine/pacing.ts";
import { StoreBusy } from "../lib/store/store.ts";

/** Time after which the start fails; a supervisor starts the process again. */
const MAX_BUSY_MS = 60_000;
/** Pause between tries; each try of a store also has its own pauses. */
const PAUSE_MS = 500;

/** Repeats work while the store is busy, for up to a minute. Errors: those of the work; one that says what to do if the store stays busy. */
export async function retryWhileBusy<T>(
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
