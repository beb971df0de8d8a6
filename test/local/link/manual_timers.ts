import type { Timers } from "../../../local/link/timers.ts";
import { type TestClock, testClock } from "../../support/clock.ts";

/** A clock with the timers that hang on it: time passes when it is asked to. */
export interface ManualTime {
  /** The time of day; a test may also set it, which no timer notices. */
  clock: TestClock;
  timers: Timers;
  /** Lets time pass and runs what falls due, in order. */
  pass(ms: number): void;
  /** How long until the next timer, in milliseconds; undefined without one. */
  next(): number | undefined;
}

/** Time that stands still. */
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
