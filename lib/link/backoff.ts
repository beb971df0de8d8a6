const BASE_DELAY_MS = 1000;
const MAX_DELAY_MS = 30_000;

/** Milliseconds before the next attempt after `failures` failed ones: full jitter, up to 30 s. `random` gives 0 to 1. */
export const reconnectDelay = (failures: number, random: () => number): number =>
  Math.floor(random() * Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** Math.min(failures, 16)));
