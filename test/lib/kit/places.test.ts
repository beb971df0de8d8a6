import { expect, test } from "vitest";
import { createSemaphore, runWithScanLimit } from "../../../lib/kit/semaphore.ts";

/** Runs that end when they are asked to, and which of them have begun. */
function runs() {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const run = (name: number) => () =>
    new Promise<number>((resolve) => {
      begun.push(name);
      ends[name] = () => resolve(name);
    });
  return { begun, ends, run };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("a limited number runs at a time, the others in order, also after a failure", async () => {
  const { begun, ends, run } = runs();
  const places = createSemaphore(2);
  const results = [0, 1, 2, 3].map((name) => places(run(name)));
  await settled();
  expect(begun).toEqual([0, 1]);
  ends[1]!();
  expect(await results[1]).toBe(1);
  await settled();
  expect(begun).toEqual([0, 1, 2]);
  ends[0]!();
  ends[2]!();
  await settled();
  expect(begun).toEqual([0, 1, 2, 3]);
  ends[3]!();
  expect(await Promise.all(results)).toEqual([0, 1, 2, 3]);
  await expect(places(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await Promise.all([places(async () => 1), places(async () => 2), places(async () => 3)])).toEqual([1, 2, 3]);
});

test("at most four wide reads of one store run concurrently; another store has its own limit", async () => {
  const { begun, ends, run } = runs();
  const [one, other] = [{}, {}];
  const all = [0, 1, 2, 3, 4].map((name) => runWithScanLimit(one, run(name)));
  void runWithScanLimit(other, run(9));
  await settled();
  expect(begun).toEqual([0, 1, 2, 3, 9]);
  for (const name of [0, 1, 2, 3]) ends[name]!();
  await settled();
  ends[4]!();
  expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4]);
});
