import type { Timers } from "../../../local/link/timers.ts";
import { type TestClock, testClock } from "../../support/clock.ts";

/** A clock with timers whose time passes only when a test advances it. */
export interface ManualTime {
  /** The time of day; setting it does not affect timers. */
  clock: TestClock;
  timers: Timers;
  /** Advances the time and runs due timers in order. */
  pass(ms: number): void;
  /** Milliseconds until the next timer; undefined without one. */
  next(): number | undefined;
}

/** Creates a clock whose time does not pass by itself. */
export function manualTime(): ManualTime {
  const clock = testClock();
  const due = new Set<{ at: number; run: () => void }>();
  const first = () => [...due].sort((a, b) => a.at - b.at)[0];
  let passed = 0;
  const goTo = (moment: number): void => {
    clock.advance(moment - passed);
    passed = moment;
  };
  return {
    clock,
    timers: {
      now: () => passed,
      after(ms, run) {
        const timer = { at: passed + ms, run };
        due.add(timer);
        return () => void due.delete(timer);
      },
    },
    pass(ms) {
      const end = passed + ms;
      for (let timer = first(); timer && timer.at <= end; timer = first()) {
        due.delete(timer);
        goTo(timer.at);
        timer.run();
      }
      goTo(end);
    },
    next: () => {
      const timer = first();
      return timer && timer.at - passed;
    },
  };
}
