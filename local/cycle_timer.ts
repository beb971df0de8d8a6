/** Runs cycles: on a timer, and soon after somebody asks for one. They never overlap. */
import type { Log } from "../lib/kit/platform.ts";

/** A timer that runs the cycles. */
export interface CycleTimer {
  /** Starts the timer; before that nothing runs. */
  start(): void;
  /** Asks for a cycle soon. Asked while one runs, another follows it: what is new may have come too late for the first. */
  wake(): void;
  /** No further cycle; resolves when a running one is over. */
  stop(): Promise<void>;
}

/** `interval` in milliseconds; 0 runs cycles only when asked. A cycle that fails is logged, and the next one runs. */
export function cycleTimer(run: () => Promise<unknown>, interval: number, log: Log): CycleTimer {
  let on = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let asked = false;

  const cycle = async (): Promise<void> => {
    asked = false;
    try {
      await run();
    } catch (error) {
      log.error("cycle failed", { error });
    }
    running = undefined;
    if (asked) begin();
  };
  const begin = (): void => {
    if (on) running ??= cycle();
  };

  return {
    start() {
      on = true;
      if (interval > 0) timer = setInterval(begin, interval).unref();
      if (asked) begin();
    },
    wake() {
      asked = true;
      setImmediate(begin);
    },
    async stop() {
      on = false;
      clearInterval(timer);
      await running;
    },
  };
}
