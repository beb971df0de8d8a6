/** Damage in sealed files of a running store, which each cycle looks for: missing files, and bytes that changed. */
import { copyFile, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { readContent, COLLECTIONS, contentsOfWorkload, storedRecords, addWrites, workloadWrites } from "./model.ts";
import { type AnyFileStore, openTestStore, temporaryFolder } from "./open_test_store.ts";

let state: string;
let store: AnyFileStore;
const sealedPath = (number: number): string => `${state}.journal.${String(number).padStart(6, "0")}.jsonl`;

beforeEach(async () => {
  state = join(await temporaryFolder(), "state.json");
  store = await openTestStore(state, { segmentBytes: 4000 });
  for (let n = 1; n <= 60; n++) {
    await store.transact((tx) => addWrites(tx, workloadWrites(n)));
    await store.transact((tx) => tx.put("kept", `k${n}`, n));
  }
  await store.compact();
  await store.inspect!();
  expect(store.faults!().damaged).toEqual([]);
});

const expectWorkingStore = async (): Promise<void> => {
  await store.transact((tx) => addWrites(tx, workloadWrites(61)));
  expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(contentsOfWorkload(61)[61]!));
};

test("a removed sealed file is reported with the entries in it, which can still be read", async () => {
  await rm(sealedPath(2));
  await store.inspect!();
  const [damage, ...others] = store.faults!().damaged;
  expect(others).toEqual([]);
  expect(damage!.file).toBe(basename(sealedPath(2)));
  expect(damage!.reason).toContain(`${sealedPath(2)} is gone. Before you stop anything, copy it back: `);
  const ids = (await store.list("audit", { limit: 999 })).map(({ id }) => Number(id));
  const [, first, last] = /audit entries (\d+) to (\d+)/.exec(damage!.holds)!;
  const text = await readFile(sealedPath(3), "utf8");
  expect(Number(last) - Number(first)).toBeGreaterThan(0);
  // The next file begins, after its header, with the next entry.
  expect(JSON.parse(text.split("\n")[1]!)).toMatchObject({
    // In a line of the journal, `audit` has the number of its first entry, then the entries.
    audit: expect.arrayContaining([Number(last) + 1]) as unknown,
  });
  expect(ids).toContain(Number(first));
  await expectWorkingStore();
});

test.runIf(process.platform === "linux")(
  "a removed sealed file that is restored by the command in the message is intact again",
  async () => {
    await rm(sealedPath(2));
    await store.inspect!();
    const [, from, to] = /copy it back: cp (\S+) '([^']+)'/.exec(store.faults!().damaged[0]!.reason)!;
    await copyFile(from!, to!);
    await store.inspect!();
    expect(store.faults!().damaged).toEqual([]);
    await expectWorkingStore();
    await rm(sealedPath(2));
    await store.inspect!();
    expect(store.faults!().damaged).toHaveLength(1);
  },
);

// The details of the workload's audit entries contain many x. The flag r+ changes a file without replacing it.
test("a changed bit in a value is found by the next cycle, also if the value is still JSON", async () => {
  const text = await readFile(sealedPath(2), "latin1");
  const offset = text.lastIndexOf("xxx");
  await writeFile(sealedPath(2), `${text.slice(0, offset)}y${text.slice(offset + 1)}`, {
    encoding: "latin1",
    flag: "r+",
  });
  await store.inspect!();
  expect(store.faults!().damaged).toMatchObject([
    { file: basename(sealedPath(2)), reason: expect.stringContaining("does not match its checksum") as string },
  ]);
  await writeFile(sealedPath(2), text, { encoding: "latin1", flag: "r+" });
  await store.inspect!();
  expect(store.faults!().damaged).toEqual([]);
});

test.each([
  [
    "replaced",
    async () => (await copyFile(sealedPath(3), `${state}.copy`), rename(`${state}.copy`, sealedPath(2))),
    "was replaced",
  ],
  ["cut", () => truncate(sealedPath(2), 300), "300 bytes of"],
  ["lengthened", () => writeFile(sealedPath(2), "{}\n", { flag: "a" }), "and was left with"],
] as const)("a sealed file that was %s is reported", async (_, change, reason) => {
  await change();
  await store.inspect!();
  expect(store.faults!().damaged).toMatchObject([
    { file: basename(sealedPath(2)), reason: expect.stringContaining(reason) as string },
  ]);
});

test("damage in one file does not stop the compaction of others", async () => {
  await store.transact((tx) => tx.put("things", "secret", "to be erased"));
  const text = await readFile(sealedPath(2), "latin1");
  // A record in the damaged file, so that the deletion below has to rewrite this file too.
  const [, collection, id] = /\["([a-z]+)","([^"]+)",\d+,/.exec(text)!;
  await writeFile(sealedPath(2), text.replace("xxx", "xxy"), { encoding: "latin1", flag: "r+" });
  await store.inspect!();
  const { segments } = store.status();
  await store.transact((tx) => {
    tx.delete("things", "secret");
    tx.delete(collection!, id!);
  });
  const expungeError = async () => store.expunge!().catch((error: Error) => error.message);
  for (let cycle = 0; cycle < 20; cycle++) expect(await expungeError()).toContain(`${sealedPath(2)}, which is damaged`);
  // Only the first of these cycles seals a file, and rewrites it without the secret.
  expect(store.status().segments).toBe(segments + 1);
  expect(await readFile(sealedPath(segments), "utf8")).not.toContain("to be erased");
  await writeFile(sealedPath(2), text, { encoding: "latin1", flag: "r+" });
  await store.inspect!();
  expect(await expungeError()).toBeUndefined();
});
