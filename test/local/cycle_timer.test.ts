/** Tests when cycles run: at intervals and after wake-ups, never two concurrently, and none after a stop. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Log } from "../../lib/kit/platform.ts";
import { cycleTimer } from "../../local/cycle_timer.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Creates a timer of cycles, each of which runs until the test ends it. With an interval of 0, only wake-ups run cycles. */
function startTimer(interval: number) {
  const errors: string[] = [];
  const log: Log = { info() {}, warn() {}, error: (message) => errors.push(message) };
  const cycles: { finish: () => void; fail: (error: Error) => void }[] = [];
  let started = 0;
  const runCycle = () =>
    new Promise<void>((resolve, reject) => {
      started++;
      cycles.push({ finish: resolve, fail: reject });
    });
  const timer = cycleTimer(runCycle, interval, log);
  return { timer, errors, cycles, started: () => started };
}
const advanceTime = (milliseconds = 0) => vi.advanceTimersByTimeAsync(milliseconds);

test("a cycle runs every interval, and never two concurrently", async () => {
  const { timer, cycles, started } = startTimer(1000);
  timer.start();
  await advanceTime(999);
  expect(started()).toBe(0);
  await advanceTime(1);
  expect(started()).toBe(1);
  await advanceTime(5000);
  expect(started()).toBe(1);
  cycles[0]!.finish();
  await advanceTime(1000);
  expect(started()).toBe(2);
});

test("several wake-ups run one cycle", async () => {
  const { timer, started } = startTimer(0);
  timer.start();
  timer.wake();
  timer.wake();
  expect(started()).toBe(0);
  await advanceTime();
  expect(started()).toBe(1);
});

test("a wake-up during a cycle runs one more after it", async () => {
  const { timer, cycles, started } = startTimer(0);
  timer.start();
  timer.wake();
  await advanceTime();
  timer.wake();
  timer.wake();
  await advanceTime(1);
  expect(started()).toBe(1);
  cycles[0]!.finish();
  await advanceTime(1);
  expect(started()).toBe(2);
  cycles[1]!.finish();
  await advanceTime(1);
  expect(started()).toBe(2);
});

test("a wake-up before the start runs a cycle at the start", async () => {
  const { timer, started } = startTimer(0);
  timer.wake();
  await advanceTime(1);
  expect(started()).toBe(0);
  timer.start();
  await advanceTime(1);
  expect(started()).toBe(1);
});

test("a cycle that fails is logged, and the next one runs", async () => {
  const { timer, cycles, started, errors } = startTimer(1000);
  timer.start();
  await advanceTime(1000);
  cycles[0]!.fail(new Error("no disk"));
  await advanceTime(1000);
  expect([started(), errors]).toEqual([2, ["cycle failed"]]);
});

test("stopping waits for a running cycle, and no cycle follows", async () => {
  const { timer, cycles, started } = startTimer(1000);
  timer.start();
  await advanceTime(1000);
  timer.wake();
  let hasStopped = false;
  const stop = timer.stop().then(() => (hasStopped = true));
  await advanceTime(10);
  expect(hasStopped).toBe(false);
  cycles[0]!.finish();
  await stop;
  await advanceTime(5000);
  expect(started()).toBe(1);
});
