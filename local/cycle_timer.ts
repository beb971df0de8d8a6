/** Runs cycles on a timer, and soon after a request for one. Cycles never overlap. */
import type { Log } from "../lib/kit/platform.ts";

/** A timer that runs the cycles. */
export interface CycleTimer {
  /** Starts the timer; before that nothing runs. */
  start(): void;
  /** Requests a cycle soon; while one is running, another follows, since the running one may have missed the newest data. */
  wake(): void;
  /** Prevents further cycles; resolves when a running one has ended. */
  stop(): Promise<void>;
}

/** Creates the timer. `interval` in milliseconds; 0 runs cycles only on request. A failed cycle is logged. */
export function cycleTimer(run: () => Promise<unknown>, interval: number, log: Log): CycleTimer {
  let isStarted = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isRequested = false;

  const cycle = async (): Promise<void> => {
    isRequested = false;
    try {
      await run();
    } catch (error) {
      log.error("cycle failed", { error });
    }
    running = undefined;
    if (isRequested) begin();
  };
  const begin = (): void => {
    if (isStarted) running ??= cycle();
  };

  return {
    start() {
      isStarted = true;
      if (interval > 0) timer = setInterval(begin, interval).unref();
      if (isRequested) begin();
    },
    wake() {
      isRequested = true;
      setImmediate(begin);
    },
    async stop() {
      isStarted = false;
      clearInterval(timer);
      await running;
    },
  };
}
