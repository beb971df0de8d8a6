import type { Pacing } from "../../lib/store/engine/pacing.ts";

/** The machine's time, chance that is always even; pauses are noted, not made. */
export function notedPacing(): Pacing & { pauses: number[] } {
  const pauses: number[] = [];
  return {
    pauses,
    random: () => 0.5,
    clock: { now: () => Date.now(), sleep: async (ms) => void pauses.push(ms) },
  };
}
