/** Temporary faults: a failed write is undone and retried, and the store goes on without a restart. */
import { readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { StoreUnavailable } from "../../../lib/store/store.ts";
import { type Files, nodeFiles } from "../../../local/store/files.ts";
import { LONG } from "../../support/run_length.ts";
import { withFaults, systemError } from "./faulty_files.ts";
import { COLLECTIONS, readContent, contentsOfWorkload, storedRecords, addWrites, workloadWrites } from "./model.ts";
import { type AnyFileStore, openTestStore, readableLog, temporaryFolder } from "./open_test_store.ts";
import { simulatedDisk } from "./simulated_disk.ts";

let state: string;
const contents = contentsOfWorkload(60);

beforeEach(async () => {
  state = join(await temporaryFolder(), "state.json");
});

const commit = async (store: AnyFileStore, first: number, last: number): Promise<void> => {
  for (let n = first; n <= last; n++) await store.transact((tx) => addWrites(tx, workloadWrites(n)));
};
const expectRejected = (store: AnyFileStore, n: number): Promise<unknown> =>
  expect(store.transact((tx) => addWrites(tx, workloadWrites(n)))).rejects.toThrow(StoreUnavailable);
const expectContent = async (store: AnyFileStore, count: number): Promise<void> =>
  expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(contents[count]!));

/** Returns a file layer whose calls of one kind fail while `broken` is true. */
function makeBreakable(
  failed: keyof Files,
  code: string,
  isAffected: (args: readonly unknown[]) => boolean = () => true,
) {
  const fault = { broken: false, files: nodeFiles };
  fault.files = withFaults(nodeFiles, (call, args) =>
    fault.broken && call === failed && isAffected(args) ? systemError(code) : undefined,
  );
  return fault;
}

test.each([
  ["ENOSPC", "Free space on the disk"],
  ["EMFILE", "Raise the limit of open files"],
  ["EROFS", "mount the file system writable"],
  ["EFBIG", "Raise the limit of file sizes"],
])("after %s the next cycle takes writes again, and the message names the remedy", async (code, remedy) => {
  const fault = makeBreakable("writeNow", code);
  const log = readableLog();
  const store = await openTestStore(state, { files: fault.files, log });
  await commit(store, 1, 5);
  fault.broken = true;
  for (let attempt = 0; attempt < 100; attempt++) await expectRejected(store, 6);
  expect(store.faults!().writes).toContain(remedy);
  await store.inspect!();
  await expectRejected(store, 6);
  await expectContent(store, 5);
  fault.broken = false;
  await store.inspect!();
  expect(store.faults!().writes).toBeNull();
  await commit(store, 6, 9);
  await expectContent(store, 9);
  expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  expect(log.lines.map(({ message }) => message)).toContain("the store takes writes again");
  await store.close();
  await expectContent(await openTestStore(state), 9);
});

test("a second after a fault the next write is tried, also without a cycle", async () => {
  const fault = makeBreakable("writeNow", "ENOSPC");
  let now = 0;
  const store = await openTestStore(state, { files: fault.files, now: () => now });
  await commit(store, 1, 5);
  fault.broken = true;
  await expectRejected(store, 6);
  fault.broken = false;
  await expectRejected(store, 6);
  now += 1000;
  await commit(store, 6, 6);
  await expectContent(store, 6);
});

test("later transactions do not see commits that depend on a failed write", async () => {
  const fault = makeBreakable("writeNow", "ENOSPC");
  const store = await openTestStore(state, { files: fault.files });
  await commit(store, 1, 5);
  fault.broken = true;
  await Promise.all([6, 7, 8].map((n) => expectRejected(store, n)));
  fault.broken = false;
  await store.inspect!();
  expect(await store.transact(async (tx) => (await tx.list("audit", { limit: 99 })).length)).toBe(5);
  await commit(store, 6, 8);
  await expectContent(store, 8);
});

test("a transaction that began before the end of a fault is rejected", async () => {
  const fault = makeBreakable("writeNow", "ENOSPC");
  const store = await openTestStore(state, { files: fault.files });
  await commit(store, 1, 5);
  fault.broken = true;
  const written = expectRejected(store, 6);
  let endRunning = (): void => undefined;
  const running = store.transact(async (tx) => {
    const chain = await tx.get("meta", "chain");
    await new Promise<void>((resolve) => (endRunning = resolve));
    tx.put("things", "seen", chain?.revision);
  });
  await written;
  fault.broken = false;
  const inspected = store.inspect!();
  endRunning();
  await expect(running).rejects.toThrow(StoreUnavailable);
  await inspected;
  await commit(store, 6, 6);
  await expectContent(store, 6);
});

test("a failed sync is not retried, and `onReadOnly` is called", async () => {
  const fault = makeBreakable("sync", "EIO");
  let endRequests = 0;
  const store = await openTestStore(state, { files: fault.files, onReadOnly: () => endRequests++ });
  await commit(store, 1, 5);
  fault.broken = true;
  await expectRejected(store, 6);
  fault.broken = false;
  await store.inspect!();
  await expectRejected(store, 6);
  expect(endRequests).toBe(1);
  expect(store.faults!().writes).toContain("Check the disk, then restart the service.");
});

test("a failed write or a missing file does not call `onReadOnly`", async () => {
  const fault = makeBreakable("writeNow", "ENOSPC");
  let endRequests = 0;
  const store = await openTestStore(state, { files: fault.files, onReadOnly: () => endRequests++ });
  await commit(store, 1, 5);
  fault.broken = true;
  await expectRejected(store, 6);
  fault.broken = false;
  await store.inspect!();
  await rm(`${state}.journal.jsonl`);
  await expectRejected(store, 6);
  expect(endRequests).toBe(0);
});

test("a start with a full disk only reads, and takes ownership once there is space", async () => {
  await commit(await openTestStore(state), 1, 5);
  const fault = makeBreakable("write", "ENOSPC");
  fault.broken = true;
  const store = await openTestStore(state, { files: fault.files });
  await expectContent(store, 5);
  await expectRejected(store, 6);
  fault.broken = false;
  await store.inspect!();
  await commit(store, 6, 8);
  await store.close();
  await expectContent(await openTestStore(state), 8);
});

test("any single failed call, except a sync, is repaired by the next cycle", async () => {
  const path = "/data/state.json";
  // The short run fails only every seventh call.
  for (let failedCall = 1; ; failedCall += LONG ? 1 : 7) {
    const disk = simulatedDisk();
    let isCounting = false;
    let calls = 0;
    const files = withFaults(disk.files, (call) => {
      if (!isCounting || call === "sync" || call === "syncFolder" || call.startsWith("read")) return undefined;
      return ++calls === failedCall ? systemError("ENOSPC") : undefined;
    });
    const store = await openTestStore(path, { files, segmentBytes: 2200 });
    isCounting = true;
    let next = 1;
    const step = async (): Promise<boolean> =>
      store
        .transact((tx) => addWrites(tx, workloadWrites(next)))
        .then(
          () => (next++, true),
          () => false,
        );
    // One transaction at most is rejected, since the cycle after it repairs the store.
    for (let rejections = 0; next <= 24;) {
      if (!(await step())) expect(++rejections, `call ${failedCall}`).toBe(1);
      if (rejections === 1) await store.inspect!().catch(() => undefined);
    }
    await store.compact().catch(() => undefined);
    await store.inspect!().catch(() => undefined);
    await store.compact();
    expect(store.faults!()).toMatchObject({ writes: null, compaction: null, damaged: [] });
    await expectContent(store, 24);
    await store.close();
    // All operations that were not synced are lost.
    disk.crash("everything");
    await expectContent(await openTestStore(path, { files: disk.files }), 24);
    if (calls < failedCall) break;
  }
}, 120_000);

test("200 failed compactions leave no files open; with free space the content is removed", async () => {
  const openFiles = new Set<number>();
  let full = false;
  const COMPACTED_FILE = /\d\.jsonl\.tmp$/;
  const temporaryFiles = new Set<number>();
  const files: Files = {
    ...nodeFiles,
    async open(path, mode) {
      const fd = await nodeFiles.open(path, mode);
      openFiles.add(fd);
      if (COMPACTED_FILE.test(path)) temporaryFiles.add(fd);
      return fd;
    },
    async close(fd) {
      openFiles.delete(fd);
      temporaryFiles.delete(fd);
      await nodeFiles.close(fd);
    },
    write(fd, bytes, position) {
      return full && temporaryFiles.has(fd)
        ? Promise.reject(systemError("ENOSPC"))
        : nodeFiles.write(fd, bytes, position);
    },
  };
  const log = readableLog();
  const store = await openTestStore(state, { files, log });
  await store.transact((tx) => tx.put("things", "secret", "to be erased"));
  // Less than half of the file is superseded, so only `expunge` compacts it.
  for (let number = 0; number < 50; number++)
    await store.transact((tx) => tx.put("things", `current${number}`, number));
  await store.transact((tx) => tx.delete("things", "secret"));
  const journals = async (): Promise<number> =>
    (await readdir(dirname(state))).filter((name) => name.endsWith(".jsonl")).length;
  full = true;
  await expect(store.expunge!()).rejects.toThrow("ENOSPC");
  const before = [await journals(), openFiles.size];
  for (let cycle = 0; cycle < 200; cycle++) {
    await store.inspect!();
    expect(store.faults!().compaction).toContain("ENOSPC");
    await expect(store.expunge!()).rejects.toThrow("ENOSPC");
    await store.transact((tx) => tx.put("things", "cycle", cycle));
  }
  expect(store.faults!().compaction).toContain("ENOSPC");
  expect([await journals(), openFiles.size]).toEqual(before);
  expect(log.lines.filter(({ level }) => level === "error").length).toBe(1);
  full = false;
  await store.inspect!();
  expect(store.faults!().compaction).toBeNull();
  const text = await Promise.all(
    (await readdir(dirname(state))).map((name) => readFile(join(dirname(state), name), "utf8")),
  );
  expect(text.join("")).not.toContain("to be erased");
});
