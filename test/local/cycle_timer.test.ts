import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Log } from "../../lib/kit/platform.ts";
import { cycleTimer } from "../../local/cycle_timer.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Cycles that run until they are let go, one by one. */
function setUp(interval: number) {
  const errors: string[] = [];
  const log: Log = { info() {}, warn() {}, error: (message) => errors.push(message) };
  const running: { finish: () => void; fail: (error: Error) => void }[] = [];
  let begun = 0;
  const run = () =>
    new Promise<void>((resolve, reject) => {
      begun++;
      running.push({ finish: resolve, fail: reject });
    });
  const timer = cycleTimer(run, interval, log);
  return { timer, errors, running, begun: () => begun };
}
const settle = (milliseconds = 0) => vi.advanceTimersByTimeAsync(milliseconds);

test("a cycle runs every interval, and never two at once", async () => {
  const { timer, running, begun } = setUp(1000);
  timer.start();
  await settle(999);
  expect(begun()).toBe(0);
  await settle(1);
  expect(begun()).toBe(1);
  await settle(5000);
  expect(begun()).toBe(1);
  running[0]!.finish();
  await settle(1000);
  expect(begun()).toBe(2);
});

test("waking runs one cycle soon, however often it is asked for", async () => {
  const { timer, begun } = setUp(0);
  timer.start();
  timer.wake();
  timer.wake();
  expect(begun()).toBe(0);
  await settle();
  expect(begun()).toBe(1);
});

test("waking during a cycle runs one more after it", async () => {
  const { timer, running, begun } = setUp(0);
  timer.start();
  timer.wake();
  await settle();
  timer.wake();
  timer.wake();
  await settle(1);
  expect(begun()).toBe(1);
  running[0]!.finish();
  await settle(1);
  expect(begun()).toBe(2);
  running[1]!.finish();
  await settle(1);
  expect(begun()).toBe(2);
});

test("waking before the start runs a cycle at the start", async () => {
  const { timer, begun } = setUp(0);
  timer.wake();
  await settle(1);
  expect(begun()).toBe(0);
  timer.start();
  await settle(1);
  expect(begun()).toBe(1);
});

test("a cycle that fails is logged, and the next one runs", async () => {
  const { timer, running, begun, errors } = setUp(1000);
  timer.start();
  await settle(1000);
  running[0]!.fail(new Error("no disk"));
  await settle(1000);
  expect([begun(), errors]).toEqual([2, ["cycle failed"]]);
});

test("stopping waits for a running cycle, and none follows", async () => {
  const { timer, running, begun } = setUp(1000);
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
  expect(begun()).toBe(1);
});
