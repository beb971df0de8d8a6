/** Temporary faults: a failed write is undone and retried, and the store goes on without a restart. */
import { readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { StoreUnavailable } from "../../../lib/store/store.ts";
import { type Files, nodeFiles } from "../../../local/store/files.ts";
import { LONG } from "../../support/run_length.ts";
import { withFaults, systemError } from "./faults.ts";
import { COLLECTIONS, readContent, history, live, perform, workload } from "./model.ts";
import { type AnyFileStore, opened, readableLog, temporaryFolder } from "./opened.ts";
import { simulatedDisk } from "./simulated_disk.ts";

let state: string;
const contents = history(60);

beforeEach(async () => {
  state = join(await temporaryFolder(), "state.json");
});

const run = async (store: AnyFileStore, first: number, last: number): Promise<void> => {
  for (let n = first; n <= last; n++) await store.transact((tx) => perform(tx, workload(n)));
};
const refuse = (store: AnyFileStore, n: number): Promise<unknown> =>
  expect(store.transact((tx) => perform(tx, workload(n)))).rejects.toThrow(StoreUnavailable);
const holds = async (store: AnyFileStore, count: number): Promise<void> =>
  expect(await readContent(store, COLLECTIONS)).toEqual(live(contents[count]!));

/** A file layer whose calls of one kind fail while it is `broken`. */
function breakable(failed: keyof Files, code: string, isMeant: (args: readonly unknown[]) => boolean = () => true) {
  const fault = { broken: false, files: nodeFiles };
  fault.files = withFaults(nodeFiles, (call, args) =>
    fault.broken && call === failed && isMeant(args) ? systemError(code) : undefined,
  );
  return fault;
}

test.each([
  ["ENOSPC", "Free space on the disk"],
  ["EMFILE", "Raise the limit of open files"],
  ["EROFS", "mount the file system writable"],
  ["EFBIG", "Raise the limit of file sizes"],
])("after %s the next cycle goes on, and the message names what to do", async (code, remedy) => {
  const fault = breakable("writeNow", code);
  const log = readableLog();
  const store = await opened(state, { files: fault.files, log });
  await run(store, 1, 5);
  fault.broken = true;
  for (let tries = 0; tries < 100; tries++) await refuse(store, 6);
  expect(store.faults!().writes).toContain(remedy);
  await store.inspect!();
  await refuse(store, 6);
  await holds(store, 5);
  fault.broken = false;
  await store.inspect!();
  expect(store.faults!().writes).toBeNull();
  await run(store, 6, 9);
  await holds(store, 9);
  expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  expect(log.lines.map(({ message }) => message)).toContain("the store takes writes again");
  await store.close();
  await holds(await opened(state), 9);
});

test("a second after the fault the store tries a write by itself, also without cycles", async () => {
  const fault = breakable("writeNow", "ENOSPC");
  let now = 0;
  const store = await opened(state, { files: fault.files, now: () => now });
  await run(store, 1, 5);
  fault.broken = true;
  await refuse(store, 6);
  fault.broken = false;
  await refuse(store, 6);
  now += 1000;
  await run(store, 6, 6);
  await holds(store, 6);
});

test("later transactions do not see commits that depend on a failed write", async () => {
  const fault = breakable("writeNow", "ENOSPC");
  const store = await opened(state, { files: fault.files });
  await run(store, 1, 5);
  fault.broken = true;
  await Promise.all([6, 7, 8].map((n) => refuse(store, n)));
  fault.broken = false;
  await store.inspect!();
  expect(await store.transact(async (tx) => (await tx.list("audit", { limit: 99 })).length)).toBe(5);
  await run(store, 6, 8);
  await holds(store, 8);
});

test("a transaction that began before the end of a fault is rejected", async () => {
  const fault = breakable("writeNow", "ENOSPC");
  const store = await opened(state, { files: fault.files });
  await run(store, 1, 5);
  fault.broken = true;
  const written = refuse(store, 6);
  let goOn = (): void => undefined;
  const under = store.transact(async (tx) => {
    const seen = await tx.get("meta", "chain");
    await new Promise<void>((resolve) => (goOn = resolve));
    tx.put("things", "seen", seen?.revision);
  });
  await written;
  fault.broken = false;
  const inspected = store.inspect!();
  goOn();
  await expect(under).rejects.toThrow(StoreUnavailable);
  await inspected;
  await run(store, 6, 6);
  await holds(store, 6);
});

test("a failed sync is not retried, and the program is requested to end", async () => {
  const fault = breakable("sync", "EIO");
  let ended = 0;
  const store = await opened(state, { files: fault.files, onReadOnly: () => ended++ });
  await run(store, 1, 5);
  fault.broken = true;
  await refuse(store, 6);
  fault.broken = false;
  await store.inspect!();
  await refuse(store, 6);
  expect(ended).toBe(1);
  expect(store.faults!().writes).toContain("Check the disk, then restart the service.");
});

test("a failed write or a missing file does not end the program", async () => {
  const fault = breakable("writeNow", "ENOSPC");
  let ended = 0;
  const store = await opened(state, { files: fault.files, onReadOnly: () => ended++ });
  await run(store, 1, 5);
  fault.broken = true;
  await refuse(store, 6);
  fault.broken = false;
  await store.inspect!();
  await rm(`${state}.journal.jsonl`);
  await refuse(store, 6);
  expect(ended).toBe(0);
});

test("with a full disk a start only reads the journal, and owns it after there is room", async () => {
  await run(await opened(state), 1, 5);
  const fault = breakable("write", "ENOSPC");
  fault.broken = true;
  const store = await opened(state, { files: fault.files });
  await holds(store, 5);
  await refuse(store, 6);
  fault.broken = false;
  await store.inspect!();
  await run(store, 6, 8);
  await store.close();
  await holds(await opened(state), 8);
});

test("any single failed call, except a sync, is repaired by the next cycle", async () => {
  const path = "/data/state.json";
  for (let tried = 1; ; tried += LONG ? 1 : 7) {
    const disk = simulatedDisk();
    let armed = false;
    let calls = 0;
    const files = withFaults(disk.files, (call) => {
      if (!armed || call === "sync" || call === "syncFolder" || call.startsWith("read")) return undefined;
      return ++calls === tried ? systemError("ENOSPC") : undefined;
    });
    const store = await opened(path, { files, segmentBytes: 2200 });
    armed = true;
    let next = 1;
    const step = async (): Promise<boolean> =>
      store
        .transact((tx) => perform(tx, workload(next)))
        .then(
          () => (next++, true),
          () => false,
        );
    for (let refused = 0; next <= 24;) {
      if (!(await step())) expect(++refused, `call ${tried}`).toBe(1);
      if (refused === 1) await store.inspect!().catch(() => undefined);
    }
    await store.compact().catch(() => undefined);
    await store.inspect!().catch(() => undefined);
    await store.compact();
    expect(store.faults!()).toMatchObject({ writes: null, compaction: null, damaged: [] });
    await holds(store, 24);
    await store.close();
    disk.crash("everything");
    await holds(await opened(path, { files: disk.files }), 24);
    if (calls < tried) break;
  }
}, 120_000);

test("200 failed removals of content leave no files open; with room it is removed", async () => {
  const opens = new Set<number>();
  let full = false;
  const sealedAside = /\d\.jsonl\.tmp$/;
  const asides = new Set<number>();
  const files: Files = {
    ...nodeFiles,
    async open(path, mode) {
      const fd = await nodeFiles.open(path, mode);
      opens.add(fd);
      if (sealedAside.test(path)) asides.add(fd);
      return fd;
    },
    async close(fd) {
      opens.delete(fd);
      asides.delete(fd);
      await nodeFiles.close(fd);
    },
    write(fd, bytes, position) {
      return full && asides.has(fd) ? Promise.reject(systemError("ENOSPC")) : nodeFiles.write(fd, bytes, position);
    },
  };
  const log = readableLog();
  const store = await opened(state, { files, log });
  await store.transact((tx) => tx.put("things", "secret", "to be erased"));
  // Less than half of the file is superseded.
  for (let made = 0; made < 50; made++) await store.transact((tx) => tx.put("things", `current${made}`, made));
  await store.transact((tx) => tx.delete("things", "secret"));
  const journals = async (): Promise<number> =>
    (await readdir(dirname(state))).filter((name) => name.endsWith(".jsonl")).length;
  full = true;
  await expect(store.expunge!()).rejects.toThrow("ENOSPC");
  const before = [await journals(), opens.size];
  for (let cycle = 0; cycle < 200; cycle++) {
    await store.inspect!();
    expect(store.faults!().compaction).toContain("ENOSPC");
    await expect(store.expunge!()).rejects.toThrow("ENOSPC");
    await store.transact((tx) => tx.put("things", "cycle", cycle));
  }
  expect(store.faults!().compaction).toContain("ENOSPC");
  expect([await journals(), opens.size]).toEqual(before);
  expect(log.lines.filter(({ level }) => level === "error").length).toBe(1);
  full = false;
  await store.inspect!();
  expect(store.faults!().compaction).toBeNull();
  const text = await Promise.all(
    (await readdir(dirname(state))).map((name) => readFile(join(dirname(state), name), "utf8")),
  );
  expect(text.join("")).not.toContain("to be erased");
});
