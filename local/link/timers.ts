/** A monotonic clock with timers. */
export interface Timers {
  /** Returns milliseconds since some moment; unlike the time of day it never jumps. */
  now(): number;
  /** Runs a function later; returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** The process's timers. */
export const systemTimers: Timers = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
