import type { Pacing } from "../../lib/store/engine/pacing.ts";

/** Returns a pacing that records pauses instead of waiting, with the real clock and a constant random number. */
export function recordedPacing(): Pacing & { pauses: number[] } {
  const pauses: number[] = [];
  return {
    pauses,
    random: () => 0.5,
    clock: { now: () => Date.now(), sleep: async (ms) => void pauses.push(ms) },
  };
}
