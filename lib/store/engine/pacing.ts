/** Repeats work that conflicted with another process, after a pause. */
import type { Clock } from "../../kit/platform.ts";
import { StoreBusy } from "../store.ts";
import { Contended } from "./attempt.ts";

/** A clock with a sleep, and random numbers from 0 to below 1. */
export interface Pacing {
  clock: Clock & { sleep(ms: number): Promise<void> };
  random: () => number;
}

/** Pacing with the clock and the random numbers of the machine. */
export const systemPacing: Pacing = {
  clock: { now: () => Date.now(), sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) },
  random: () => Math.random(),
};

/** A store that stays contended for this long is busy. It is less than the request limit of every host. */
const MAX_CONTENDED_MS = 5_000;

/** Number of attempts for work that conflicts with others. */
const MAX_ATTEMPTS = 8;
const FIRST_PAUSE_MS = 25;
const MAX_PAUSE_MS = 1000;

/** Returns a random pause below a bound that doubles with each try, so that conflicting processes do not retry together. */
export const pauseMs = (tries: number, random: Pacing["random"]): number =>
  Math.floor(random() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1)));

/** Repeats `work` while it fails with `Contended`. Errors: `StoreBusy` after `maxTries` tries or 5 s; other errors of `work`. */
export async function retryContended<T>(
  work: () => Promise<T>,
  { clock, random }: Pacing,
  maxTries = MAX_ATTEMPTS,
): Promise<T> {
  const end = clock.now() + MAX_CONTENDED_MS;
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Contended)) throw error;
      const pause = pauseMs(tries, random);
      // A process that was suspended during its first try has learned nothing yet, so it tries once more.
      if (tries === maxTries || (tries > 1 && clock.now() + pause >= end))
        throw new StoreBusy(`contended after ${tries} tries: ${error.message}`, { cause: error });
      await clock.sleep(pause);
    }
  }
}
