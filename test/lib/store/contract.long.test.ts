/** Tests of the store contract itself: each of its cases fails for some broken store, and none for a correct one. */
import { describe, expect, test } from "vitest";
import { memoryStore } from "../../../lib/store/memory.ts";
import { brokenLimits } from "../../contract/broken_limits.ts";
import { brokenPages } from "../../contract/broken_pages.ts";
import { brokenRecords } from "../../contract/broken_records.ts";
import { brokenTransactions } from "../../contract/broken_transactions.ts";
import { runCase, storeCases, type Subject } from "../../contract/store_cases.ts";

const brokenStores = { ...brokenRecords, ...brokenPages, ...brokenTransactions };

/** Returns the names of the contract cases that a store fails, among all cases or only the case `only`. */
async function listFailures(makeSubject: () => Subject, only?: string): Promise<string[]> {
  const failed: string[] = [];
  for (const storeCase of storeCases) {
    if (only !== undefined && storeCase.name !== only) continue;
    if (storeCase.needs && !makeSubject()[storeCase.needs]) continue;
    await runCase(storeCase, async () => makeSubject()).catch(() => failed.push(storeCase.name));
  }
  return failed;
}

describe("the contract detects the fault:", () => {
  const failedNames = new Set<string>();

  test.each(Object.entries(brokenStores))("%s", async (_, makeSubject) => {
    const failed = await listFailures(makeSubject);
    expect(failed).not.toEqual([]);
    for (const name of failed) failedNames.add(name);
  });

  // `brokenLimits` has the stores by the name of the one case that they fail.
  describe.each(Object.entries(brokenLimits))("%s:", (name, stores) => {
    test.each(Object.entries(stores))("%s", async (_, makeSubject) => {
      expect(await listFailures(makeSubject, name)).toEqual([name]);
      failedNames.add(name);
    });
  });

  test("each case fails for a broken store", () => {
    expect(storeCases.map(({ name }) => name).filter((name) => !failedNames.has(name))).toEqual([]);
  });
});

test("a store that follows the contract fails no case", async () => {
  expect(await listFailures(() => ({ store: memoryStore() }))).toEqual([]);
});

test("every case has a unique name", () => {
  expect(new Set(storeCases.map(({ name }) => name)).size).toBe(storeCases.length);
});
