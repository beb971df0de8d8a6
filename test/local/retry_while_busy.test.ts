/** Tests a start while other processes keep the store busy: it retries for a minute, and then fails with advice. */
import { expect, test } from "vitest";
import { StoreBusy, StoreUnavailable } from "../../lib/store/store.ts";
import { retryWhileBusy } from "../../local/retry_while_busy.ts";

/** Returns a clock whose time passes only by sleeping. */
function sleepingClock() {
  let now = 0;
  return { now: () => now, sleep: async (ms: number) => void (now += ms) };
}

/** Returns work that finds the store busy a number of times, with a log that collects warnings. */
function workOnBusyStore(times: number) {
  const warnings: string[] = [];
  let attempts = 0;
  const work = async (): Promise<string> => {
    if (++attempts <= times) throw new StoreBusy(`contended after 8 tries (${attempts})`);
    return "open";
  };
  const log = { warn: (message: string) => void warnings.push(message) };
  return { work, log, warnings };
}

test("a start on a busy store is retried until the store is free, with a warning each time", async () => {
  const { work, log, warnings } = workOnBusyStore(3);
  expect(await retryWhileBusy(work, log, sleepingClock())).toBe("open");
  expect(warnings).toEqual(Array(3).fill("the store is busy; the start tries again"));
});

test("a start on a store that stays busy fails after a minute, and says what to do", async () => {
  const clock = sleepingClock();
  const { work, log } = workOnBusyStore(Infinity);
  await expect(retryWhileBusy(work, log, clock)).rejects.toThrow(
    /^other processes kept the store busy for 60 s; start again/,
  );
  expect(clock.now()).toBe(60_000);
});

test("another error ends a start immediately", async () => {
  const { log, warnings } = workOnBusyStore(0);
  const work = () => Promise.reject(new StoreUnavailable("no such database"));
  await expect(retryWhileBusy(work, log, sleepingClock())).rejects.toThrow("no such database");
  expect(warnings).toEqual([]);
});
