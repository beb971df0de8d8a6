/** A clock that tests set, and spans of time in milliseconds. */
import { sampleClock } from "../../lib/changes/confirmed_time.ts";
import type { Clock } from "../../lib/kit/platform.ts";
import type { TestDeps } from "./deps.ts";

/** The first time of a test clock. */
export const START = "2026-01-02T03:04:05.678Z";
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** A clock that changes only when a test advances or sets it. */
export interface TestClock extends Clock {
  monotonic(): number;
  /** Advances wall clock and monotonic clock; a negative number sets the wall clock back only. */
  advance(ms: number): void;
  /** Moves the wall clock forward or backward without advancing the monotonic clock. */
  shift(ms: number): void;
  /** Returns the current time as RFC 3339, in UTC. */
  iso(): string;
}

/** Returns a clock that shows `start`. */
export function testClock(start: string = START): TestClock {
  let now = Date.parse(start);
  let elapsed = 0;
  const shift = (ms: number): void => void (now += ms);
  return {
    now: () => now,
    monotonic: () => elapsed,
    advance(ms) {
      shift(ms);
      elapsed += Math.max(0, ms);
    },
    shift,
    iso: () => new Date(now).toISOString(),
  };
}

/**
 * Advances the clock by `ms`, takes a clock sample, and advances it by ten more minutes: the next sample then confirms that `ms` have
 * passed (see `lib/changes/confirmed_time.ts`), as an expiry requires.
 */
export async function pass(deps: Pick<TestDeps, "clock" | "integrity" | "store">, ms: number): Promise<void> {
  deps.clock.advance(ms);
  await sampleClock(deps);
  deps.clock.advance(10 * MINUTE);
}
