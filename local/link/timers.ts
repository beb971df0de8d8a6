/** A clock that nobody sets, and what hangs on it. */
export interface Timers {
  /** Milliseconds since some moment; unlike the time of day it never jumps, so silence can be measured with it. */
  now(): number;
  /** Runs something later; what it returns calls it off. */
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
