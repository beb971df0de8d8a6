/** Semaphores limit the number of concurrent tasks. */
import { expect, test } from "vitest";
import { createSemaphore, runWithScanLimit } from "../../../lib/kit/semaphore.ts";

/** Creates tasks with a number: `started` lists those that began, and a function of `ends` ends each of them. */
function createTasks() {
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const task = (number: number) => () =>
    new Promise<number>((resolve) => {
      started.push(number);
      ends[number] = () => resolve(number);
    });
  return { started, ends, task };
}

const waitForTasks = () => new Promise((resolve) => setImmediate(resolve));

test("a limited number of tasks runs at a time, the others follow in order, also after a failure", async () => {
  const { started, ends, task } = createTasks();
  const limited = createSemaphore(2);
  const results = [0, 1, 2, 3].map((number) => limited(task(number)));
  await waitForTasks();
  expect(started).toEqual([0, 1]);
  ends[1]!();
  expect(await results[1]).toBe(1);
  await waitForTasks();
  expect(started).toEqual([0, 1, 2]);
  ends[0]!();
  ends[2]!();
  await waitForTasks();
  expect(started).toEqual([0, 1, 2, 3]);
  ends[3]!();
  expect(await Promise.all(results)).toEqual([0, 1, 2, 3]);
  await expect(limited(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await Promise.all([limited(async () => 1), limited(async () => 2), limited(async () => 3)])).toEqual([
    1, 2, 3,
  ]);
});

test("at most four scans of one store run concurrently; another store has its own limit", async () => {
  const { started, ends, task } = createTasks();
  const [store, otherStore] = [{}, {}];
  const all = [0, 1, 2, 3, 4].map((number) => runWithScanLimit(store, task(number)));
  void runWithScanLimit(otherStore, task(9));
  await waitForTasks();
  expect(started).toEqual([0, 1, 2, 3, 9]);
  for (const number of [0, 1, 2, 3]) ends[number]!();
  await waitForTasks();
  ends[4]!();
  expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4]);
});
