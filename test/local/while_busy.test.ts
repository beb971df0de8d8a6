/** A start under contention: it goes on trying for a minute, and ends with what to do. */
import { expect, test } from "vitest";
import { StoreBusy, StoreUnavailable } from "../../lib/store/store.ts";
import { retryWhileBusy } from "../../local/while_busy.ts";

/** A clock on which time passes by sleeping alone. */
function sleepingClock() {
  let now = 0;
  return { now: () => now, sleep: async (ms: number) => void (now += ms) };
}

/** Work that finds the store busy so many times, and what was logged meanwhile. */
function busy(times: number) {
  const warnings: string[] = [];
  let tries = 0;
  const work = async (): Promise<string> => {
    if (++tries <= times) throw new StoreBusy(`contended after 8 tries (${tries})`);
    return "open";
  };
  const log = { warn: (message: string) => void warnings.push(message) };
  return { work, log, warnings };
}

test("a start on a busy store tries again until the store is free, and says so each time", async () => {
  const { work, log, warnings } = busy(3);
  expect(await retryWhileBusy(work, log, sleepingClock())).toBe("open");
  expect(warnings).toEqual(Array(3).fill("the store is busy; the start tries again"));
});

test("a start on a store that stays busy ends after a minute, with what to do", async () => {
  const clock = sleepingClock();
  const { work, log } = busy(Infinity);
  await expect(retryWhileBusy(work, log, clock)).rejects.toThrow(
    /^other processes kept the store busy for 60 s; start again/,
  );
  expect(clock.now()).toBe(60_000);
});

test("another error ends a start immediately", async () => {
  const { log, warnings } = busy(0);
  const work = () => Promise.reject(new StoreUnavailable("no such database"));
  await expect(retryWhileBusy(work, log, sleepingClock())).rejects.toThrow("no such database");
  expect(warnings).toEqual([]);
});
