import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Log } from "../../lib/kit/platform.ts";
import { cycleTimer } from "../../local/cycle_timer.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Creates a timer of cycles, each of which runs until the test ends it. */
function setUp(interval: number) {
  const errors: string[] = [];
  const log: Log = { info() {}, warn() {}, error: (message) => errors.push(message) };
  const running: { finish: () => void; fail: (error: Error) => void }[] = [];
  let started = 0;
  const run = () =>
    new Promise<void>((resolve, reject) => {
      started++;
      running.push({ finish: resolve, fail: reject });
    });
  const timer = cycleTimer(run, interval, log);
  return { timer, errors, running, started: () => started };
}
const settle = (milliseconds = 0) => vi.advanceTimersByTimeAsync(milliseconds);

test("a cycle runs every interval, and never two concurrently", async () => {
  const { timer, running, started } = setUp(1000);
  timer.start();
  await settle(999);
  expect(started()).toBe(0);
  await settle(1);
  expect(started()).toBe(1);
  await settle(5000);
  expect(started()).toBe(1);
  running[0]!.finish();
  await settle(1000);
  expect(started()).toBe(2);
});

test("several wake-ups run one cycle soon", async () => {
  const { timer, started } = setUp(0);
  timer.start();
  timer.wake();
  timer.wake();
  expect(started()).toBe(0);
  await settle();
  expect(started()).toBe(1);
});

test("a wake-up during a cycle runs one more after it", async () => {
  const { timer, running, started } = setUp(0);
  timer.start();
  timer.wake();
  await settle();
  timer.wake();
  timer.wake();
  await settle(1);
  expect(started()).toBe(1);
  running[0]!.finish();
  await settle(1);
  expect(started()).toBe(2);
  running[1]!.finish();
  await settle(1);
  expect(started()).toBe(2);
});

test("a wake-up before the start runs a cycle at the start", async () => {
  const { timer, started } = setUp(0);
  timer.wake();
  await settle(1);
  expect(started()).toBe(0);
  timer.start();
  await settle(1);
  expect(started()).toBe(1);
});

test("a cycle that fails is logged, and the next one runs", async () => {
  const { timer, running, started, errors } = setUp(1000);
  timer.start();
  await settle(1000);
  running[0]!.fail(new Error("no disk"));
  await settle(1000);
  expect([started(), errors]).toEqual([2, ["cycle failed"]]);
});

test("stopping waits for a running cycle, and no cycle follows", async () => {
  const { timer, running, started } = setUp(1000);
  timer.start();
  await settle(1000);
  timer.wake();
  let stopped = false;
  const stop = timer.stop().then(() => (stopped = true));
  await settle(10);
  expect(stopped).toBe(false);
  running[0]!.finish();
  await stop;
  await settle(5000);
  expect(started()).toBe(1);
});
