/** Verifies on the real file system that a commit is acknowledged only after a sync of the journal has ended. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AnyStore } from "../../contract/any_store.ts";
import { readableLog, temporaryFolder } from "./opened.ts";

const { fdatasync } = fs;
/** Runs when the system is asked to sync a file; it is passed on, and answered, once this has resolved. */
let beforeSync: (inode: number) => Promise<void>;

// The store takes the call when it is loaded, so it is loaded again behind this.
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

test("a write is acknowledged and visible only after a sync that began after it has ended", async () => {
  const { openFileStore } = await import("../../../local/store/file_store.ts");
  const path = `${await temporaryFolder()}/state.json`;
  const journal = `${path}.journal.jsonl`;
  const store: AnyStore = await openFileStore({ path, log: readableLog(), schedule: () => () => undefined });
  for (const id of ["first", "second", "third"]) {
    let letGo = (): void => undefined;
    const asked = new Promise<{ inode: number; journal: string }>((resolve) => {
      beforeSync = (inode) => {
        resolve({ inode, journal: fs.readFileSync(journal, "utf8") });
        return new Promise((held) => (letGo = held));
      };
    });
    let acknowledged = false;
    const answered = store.transact((tx) => tx.put("things", id, 1)).then(() => (acknowledged = true));
    expect(await Promise.race([answered, asked])).toEqual({
      inode: fs.statSync(journal).ino,
      journal: expect.stringContaining(`"${id}"`),
    });
    await nextTurn();
    expect([acknowledged, await store.get("things", id)]).toEqual([false, undefined]);
    beforeSync = async () => {};
    letGo();
    await answered;
    expect(await store.get("things", id)).toMatchObject({ value: 1 });
  }
  await store.close();
});
