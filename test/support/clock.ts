import { sampleClock } from "../../lib/changes/certain_time.ts";
import type { Clock } from "../../lib/kit/platform.ts";
import type { TestDeps } from "./deps.ts";

export const START = "2026-01-02T03:04:05.678Z";
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** A clock that stands still until it is moved. */
export interface TestClock extends Clock {
  monotonic(): number;
  /** Time goes by; backwards, the clock is set. */
  advance(ms: number): void;
  /** The clock is set, forward or backward, and no time goes by. */
  set(ms: number): void;
  /** The moment as the service writes it. */
  iso(): string;
}

/** A clock at `start`. */
export function testClock(start: string = START): TestClock {
  let now = Date.parse(start);
  let elapsed = 0;
  const set = (ms: number): void => void (now += ms);
  return {
    now: () => now,
    monotonic: () => elapsed,
    advance(ms) {
      set(ms);
      elapsed += Math.max(0, ms);
    },
    set,
    iso: () => new Date(now).toISOString(),
  };
}

/** Time goes by, and for ten minutes more, so that it has gone by for certain. */
export async function pass(deps: Pick<TestDeps, "clock" | "integrity" | "store">, ms: number): Promise<void> {
  deps.clock.advance(ms);
  await sampleClock(deps);
  deps.clock.advance(10 * MINUTE);
}
