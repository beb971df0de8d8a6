/** Verification of the chain: in slices, incremental, and shared by concurrent callers. */
import { expect, test } from "vitest";
import { entryKey } from "../../../lib/audit/chain.ts";
import { findSubjects } from "../../../lib/changes/subjects.ts";
import { verifyChain, verifyNewestEntries } from "../../../lib/audit/verify.ts";
import { scanIntegrity } from "../../../lib/changes/integrity_scan.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { RecordDamaged, StoreUnavailable } from "../../../lib/store/store.ts";
import { openDeps, type TestDeps } from "../../support/deps.ts";
import { lengthen } from "./synthetic_log.ts";

/** Creates a log; `reads` lists the number of entries that each read of the log requests. */
async function createLog(
  length: number,
): Promise<{ deps: TestDeps; reads: number[]; grow: (more: number) => Promise<void> }> {
  const store = memoryStore();
  const reads: number[] = [];
  const list: typeof store.list = (collection, options) => {
    if (collection === "audit") reads.push(options.limit);
    return store.list(collection, options);
  };
  const deps = await openDeps({ store: { ...store, list } });
  const grow = (more: number) => lengthen(deps, more);
  await grow(length);
  reads.length = 0; // forgets the reads of the opening
  return { deps, reads, grow };
}

const damageEntry = (deps: TestDeps, id: number) =>
  deps.store.transact(async (tx) => {
    const { value } = (await tx.get("audit", entryKey(id)))!;
    tx.put("audit", entryKey(id), { ...value, detail: "x" });
  });

test("a long chain is verified in slices, between which other work runs", async () => {
  const { deps, reads } = await createLog(600);
  const order: string[] = [];
  const verifying = verifyChain(deps).then(() => order.push("verified"));
  await new Promise((resolve) => setTimeout(resolve)).then(() => order.push("other work"));
  await verifying;
  expect(order).toEqual(["other work", "verified"]);
  expect(reads).toEqual([250, 250, 100]);
});

test("concurrent callers share one verification", async () => {
  const { deps, reads } = await createLog(400);
  const answers = await Promise.all(Array.from({ length: 5 }, () => verifyChain(deps)));
  expect(reads).toEqual([250, 150]);
  expect(new Set(answers).size).toBe(1);
});

test("a verification soon after another reads new entries only, one a minute later all entries", async () => {
  const { deps, reads, grow } = await createLog(30);
  await verifyChain(deps);
  await grow(5);
  expect(await verifyChain(deps)).toMatchObject({ length: 35 });
  expect(reads).toEqual([30, 5]);
  deps.clock.advance(60_000);
  await verifyChain(deps);
  expect(reads).toEqual([30, 5, 35]);
});

test("damage after a verification is found by the next complete verification", async () => {
  const { deps } = await createLog(30);
  expect((await verifyChain(deps)).breach).toBeUndefined();
  await damageEntry(deps, 7);
  deps.clock.advance(60_000);
  expect((await verifyChain(deps)).breach).toMatchObject({ first_invalid: 7 });
});

test("the start verifies only the newest entries, as many as configured", async () => {
  const { deps, reads } = await createLog(30);
  await damageEntry(deps, 20);
  await verifyNewestEntries(deps, { count: 10, findSubjects });
  expect(deps.integrity.breach).toBeUndefined();
  expect(reads).toEqual([10]);
  await verifyNewestEntries(deps, { count: 11, findSubjects });
  expect(deps.integrity.breach).toMatchObject({ first_invalid: 20 });
});

test("a breach that is found twice is logged once", async () => {
  const { deps } = await createLog(3);
  const errors: string[] = [];
  deps.log = { ...deps.log, error: (message) => void errors.push(message) };
  await damageEntry(deps, 2);
  await verifyChain(deps);
  await verifyChain(deps);
  expect(errors).toHaveLength(1);
  expect(deps.integrity.breach).toMatchObject({ first_invalid: 2 });
});

test("a damaged record in a page is a breach at that record's entry", async () => {
  const { deps } = await createLog(5);
  const { store } = deps;
  // A page that cannot be read is read again entry by entry.
  deps.store = {
    ...store,
    list: () => Promise.reject(new RecordDamaged("bad block")),
    get: (collection, id) =>
      collection === "audit" && id === entryKey(4)
        ? Promise.reject(new RecordDamaged("bad block"))
        : store.get(collection, id),
  };
  expect((await verifyChain(deps)).breach).toMatchObject({ first_invalid: 4 });
});

test("a store that does not respond is not reported as a breach", async () => {
  const { deps } = await createLog(5);
  const { store } = deps;
  const rejectUnavailable = () => Promise.reject(new StoreUnavailable("the database is away"));
  const isAudit = (collection: string): boolean => collection === "audit";
  deps.store = {
    ...store,
    list: (collection, options) => (isAudit(collection) ? rejectUnavailable() : store.list(collection, options)),
    get: (collection, id) => (isAudit(collection) ? rejectUnavailable() : store.get(collection, id)),
  };
  await expect(verifyChain(deps)).rejects.toThrow("the database is away");
  await expect(scanIntegrity(deps)).rejects.toThrow("the database is away");
  deps.store = store;
  expect((await verifyChain(deps)).breach).toBeUndefined();
  expect(deps.integrity.breach).toBeUndefined();
});
