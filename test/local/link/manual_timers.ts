/** Time of the link under the control of a test. */
import type { Timers } from "../../../local/link/timers.ts";
import { type TestClock, testClock } from "../../support/clock.ts";

/** A clock with timers whose time passes only when a test advances it. */
export interface ManualTime {
  /** The time of day; setting it does not affect timers. */
  clock: TestClock;
  timers: Timers;
  /** Advances the time and runs the timers that become due, in order. */
  advance(ms: number): void;
  /** Milliseconds until the next timer; undefined without one. */
  msUntilNextTimer(): number | undefined;
}

/** Creates a clock whose time does not pass by itself. */
export function manualTime(): ManualTime {
  const clock = testClock();
  const pending = new Set<{ at: number; run: () => void }>();
  const firstPending = () => [...pending].sort((a, b) => a.at - b.at)[0];
  let nowMs = 0;
  const setTime = (timeMs: number): void => {
    clock.advance(timeMs - nowMs);
    nowMs = timeMs;
  };
  return {
    clock,
    timers: {
      now: () => nowMs,
      after(ms, run) {
        const timer = { at: nowMs + ms, run };
        pending.add(timer);
        return () => void pending.delete(timer);
      },
    },
    advance(ms) {
      const end = nowMs + ms;
      for (let timer = firstPending(); timer && timer.at <= end; timer = firstPending()) {
        pending.delete(timer);
        setTime(timer.at);
        timer.run();
      }
      setTime(end);
    },
    msUntilNextTimer: () => {
      const timer = firstPending();
      return timer && timer.at - nowMs;
    },
  };
}
