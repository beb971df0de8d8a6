import type { Clock } from "../../lib/kit/platform.ts";

export const START = "2026-01-02T03:04:05.678Z";
export const SECOND = 1000;
export const HOUR = 3600 * SECOND;
export const DAY = 24 * HOUR;

/** A clock that stands still until it is moved. */
export interface TestClock extends Clock {
  /** Moves by milliseconds; backwards when negative. */
  advance(ms: number): void;
  /** The moment as the service writes it. */
  iso(): string;
}

/** A clock at `start`. */
export function testClock(start: string = START): TestClock {
  let now = Date.parse(start);
  return {
    now: () => now,
    advance: (ms) => void (now += ms),
    iso: () => new Date(now).toISOString(),
  };
}
