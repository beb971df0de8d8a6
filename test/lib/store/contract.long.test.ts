import { describe, expect, test } from "vitest";
import { memoryStore } from "../../../lib/store/memory.ts";
import { brokenLimits } from "../../contract/broken_limits.ts";
import { brokenPages } from "../../contract/broken_pages.ts";
import { brokenRecords } from "../../contract/broken_records.ts";
import { brokenTransactions } from "../../contract/broken_transactions.ts";
import { runCase, storeCases, type Subject } from "../../contract/store_cases.ts";

const brokenStores = { ...brokenRecords, ...brokenPages, ...brokenTransactions };

/** Returns the names of the contract cases that a store fails, among all cases or only the one called `only`. */
async function failures(make: () => Subject, only?: string): Promise<string[]> {
  const failed: string[] = [];
  for (const storeCase of storeCases) {
    if (only !== undefined && storeCase.name !== only) continue;
    if (storeCase.needs && !make()[storeCase.needs]) continue;
    await runCase(storeCase, async () => make()).catch(() => failed.push(storeCase.name));
  }
  return failed;
}

describe("the contract detects the fault:", () => {
  const caught = new Set<string>();

  test.each(Object.entries(brokenStores))("%s", async (_, make) => {
    const failed = await failures(make);
    expect(failed).not.toEqual([]);
    for (const name of failed) caught.add(name);
  });

  describe.each(Object.entries(brokenLimits))("%s:", (name, stores) => {
    test.each(Object.entries(stores))("%s", async (_, make) => {
      expect(await failures(make, name)).toEqual([name]);
      caught.add(name);
    });
  });

  test("a case cannot be failed by any store", () => {
    expect(storeCases.map(({ name }) => name).filter((name) => !caught.has(name))).toEqual([]);
  });
});

test("a store that follows the contract fails no case", async () => {
  expect(await failures(() => ({ store: memoryStore() }))).toEqual([]);
});

test("every case has a unique name", () => {
  expect(new Set(storeCases.map(({ name }) => name)).size).toBe(storeCases.length);
});
