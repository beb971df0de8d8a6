/** Delays between attempts to connect to a peer. */
const BASE_DELAY_MS = 1000;
const MAX_DELAY_MS = 30_000;

/** Computes the milliseconds before the next attempt after `failures` failed attempts: random, up to a bound that doubles to 30 s. */
export const reconnectDelay = (failures: number, random: () => number): number =>
  Math.floor(random() * Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** Math.min(failures, 16)));
