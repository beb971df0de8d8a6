/** Verifies on the real file system that a commit is acknowledged only after a sync of the journal has ended. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AnyStore } from "../../contract/any_store.ts";
import { readableLog, temporaryFolder } from "./open_test_store.ts";

const { fdatasync } = fs;
/** Runs when the store requests the sync of a file; the file is synced after the promise has resolved. */
let beforeSync: (inode: number) => Promise<void>;

// The store's module imports `fdatasync` when it is loaded, so each test loads it again.
beforeEach(() => {
  beforeSync = async () => {};
  fs.fdatasync = ((fd, done) =>
    void beforeSync(fs.fstatSync(fd).ino).then(() => fdatasync(fd, done))) as typeof fdatasync;
  syncBuiltinESMExports();
  vi.resetModules();
});
afterEach(() => {
  fs.fdatasync = fdatasync;
  syncBuiltinESMExports();
  vi.resetModules();
});

test("a commit is acknowledged and visible only after the sync that follows its write", async () => {
  const { openFileStore } = await import("../../../local/store/file_store.ts");
  const path = `${await temporaryFolder()}/state.json`;
  const journal = `${path}.journal.jsonl`;
  const store: AnyStore = await openFileStore({ path, log: readableLog(), schedule: () => () => undefined });
  for (const id of ["first", "second", "third"]) {
    let releaseSync = (): void => undefined;
    const syncRequested = new Promise<{ inode: number; journal: string }>((resolve) => {
      beforeSync = (inode) => {
        resolve({ inode, journal: fs.readFileSync(journal, "utf8") });
        return new Promise((release) => (releaseSync = release));
      };
    });
    let acknowledged = false;
    const committed = store.transact((tx) => tx.put("things", id, 1)).then(() => (acknowledged = true));
    expect(await Promise.race([committed, syncRequested])).toEqual({
      inode: fs.statSync(journal).ino,
      journal: expect.stringContaining(`"${id}"`),
    });
    await nextTurn();
    expect([acknowledged, await store.get("things", id)]).toEqual([false, undefined]);
    beforeSync = async () => {};
    releaseSync();
    await committed;
    expect(await store.get("things", id)).toMatchObject({ value: 1 });
  }
  await store.close();
});
