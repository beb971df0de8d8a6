/** Records an intent as in force without waiting for another write, when a process starts under it or reads it again. */
import type { ChangesDeps } from "./deps.ts";
import { runTransaction } from "./transaction.ts";

/** Appends `intent_in_force` if the intent is not in force yet. Errors: those of a governed write. */
export async function recordIntent(deps: ChangesDeps): Promise<void> {
  // It is recorded even while the clock is behind the log, which rejects most other writes with `clock_behind`.
  await runTransaction({ deps }, async ({ recordActivations }) => recordActivations(), {
    ignoresClockLag: true,
  });
}

/** Records the intent at a start; if the store takes no write, the start continues, and the first later write records the intent. */
export async function tryRecordIntent(deps: ChangesDeps): Promise<void> {
  try {
    await recordIntent(deps);
  } catch (error) {
    deps.log.warn("the intent is not recorded as in force", { error: String(error) });
  }
}
