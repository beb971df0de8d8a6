/** Runs something later; what it returns calls it off. */
export interface Timers {
  after(ms: number, run: () => void): () => void;
}

/** The process's timers. */
export const systemTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
