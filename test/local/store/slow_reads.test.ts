/** Reads of a disk that does not answer: other work goes on, and the files stay open meanwhile. */
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import type { Store } from "../../../lib/store/store.ts";
import { mergeList } from "../../../lib/store/engine/write_set.ts";
import type { Row, Version } from "../../../lib/store/engine/view.ts";
import { json } from "../../../lib/store/json.ts";
import { type Files, nodeFiles } from "../../../local/store/files.ts";
import { service } from "../../support/service.ts";
import { openTestStore, temporaryFolder } from "./open_test_store.ts";

let state: string;
beforeEach(async () => {
  state = join(await temporaryFolder(), "state.json");
});

/** Returns a file layer whose next read can be delayed. */
function delayableReads() {
  let delayed: Promise<void> | undefined;
  let resolveArrival = (): void => undefined;
  let resolveReplaced = (): void => undefined;
  const closedInRead = new Set<number>();
  const filesInRead = new Set<number>();
  const files: Files = {
    ...nodeFiles,
    async read(fd, buffer, length, position) {
      const delay = delayed;
      delayed = undefined;
      if (delay) {
        filesInRead.add(fd);
        resolveArrival();
        await delay;
        filesInRead.delete(fd);
      }
      return nodeFiles.read(fd, buffer, length, position);
    },
    async rename(from, to) {
      await nodeFiles.rename(from, to);
      if (/journal\.\d+\.jsonl$/.test(to)) resolveReplaced();
    },
    async close(fd) {
      if (filesInRead.has(fd)) closedInRead.add(fd);
      await nodeFiles.close(fd);
    },
  };
  return {
    files,
    /** Descriptors that were closed during a read. */
    closedInRead,
    /** Resolves when a sealed file is replaced. */
    replacing: () => new Promise<void>((resolve) => (resolveReplaced = resolve)),
    /** Delays the next read until `release` is called; `reached` resolves when the read has begun. */
    delayNextRead() {
      let release = (): void => undefined;
      delayed = new Promise((resolve) => (release = resolve));
      const reached = new Promise<void>((resolve) => (resolveArrival = resolve));
      return { reached, release };
    },
  };
}

test("livez and other reads are answered while a read of the disk hangs", async () => {
  const { files, delayNextRead } = delayableReads();
  const store = (await openTestStore(state, { files })) as unknown as Store;
  const api = await service({ store });
  await api.propose();
  const { reached, release } = delayNextRead();
  const verified = api.get("audit/verify");
  await reached;
  expect((await api.get("/livez")).status).toBe(200);
  expect((await api.get("audit?limit=1")).status).toBe(200);
  release();
  expect((await verified).body).toMatchObject({ valid: true });
});

/** Waits until all work has ended that does not wait for the delayed read. */
async function waitManyTurns(): Promise<void> {
  for (let n = 0; n < 500; n++) await nextTurn();
}

/** Opens a store with several sealed files, none of whose records is in memory. */
async function coldStore(files: Files) {
  const store = await openTestStore(state, { files, segmentBytes: 1000, memoryBytes: 4096 });
  for (let n = 0; n < 40; n++) await store.transact((tx) => tx.put("things", `t${n}`, `${n}`.padEnd(100, "x")));
  for (let n = 1; n < 40; n += 2) await store.transact((tx) => tx.delete("things", `t${n}`));
  // After this, no background work reads files.
  await store.compact();
  return store;
}

test("a file stays open while it is read, also when compaction replaces it meanwhile", async () => {
  const { files, delayNextRead, closedInRead, replacing } = delayableReads();
  const store = await coldStore(files);
  const { reached, release } = delayNextRead();
  const record = store.get("things", "t2");
  await reached;
  const isReplaced = replacing();
  // Supersedes other records of the same file, so that it is compacted.
  for (const id of ["t0", "t4"]) await store.transact((tx) => tx.delete("things", id));
  const compacted = store.compact();
  await isReplaced;
  await waitManyTurns();
  release();
  expect((await record)!.value).toBe("2".padEnd(100, "x"));
  await compacted;
  expect(closedInRead.size).toBe(0);
  expect((await store.get("things", "t2"))!.value).toBe("2".padEnd(100, "x"));
});

test("a record that is overwritten during a read is not cached in its old version", async () => {
  const { files, delayNextRead } = delayableReads();
  const store = await coldStore(files);
  const { reached, release } = delayNextRead();
  const before = store.get("things", "t2");
  await reached;
  await store.transact((tx) => tx.put("things", "t2", "new"));
  release();
  await before;
  expect((await store.get("things", "t2"))!.value).toBe("new");
});

test("closing the store waits for a running read", async () => {
  const { files, delayNextRead, closedInRead } = delayableReads();
  const store = await coldStore(files);
  const { reached, release } = delayNextRead();
  const record = store.get("things", "t2");
  await reached;
  const closing = store.close();
  await waitManyTurns();
  release();
  expect((await record)!.value).toBe("2".padEnd(100, "x"));
  await closing;
  expect(closedInRead.size).toBe(0);
});

test("a write that becomes durable while its page is read from disk is listed once", async () => {
  const version = (id: string, revision: number): Version => ({ collection: "things", id, revision, json: json("x") });
  const written = new Map([["a", version("a", 2)]]);
  let deliverRows: (rows: readonly Row[]) => void;
  const page = mergeList(
    written,
    { limit: 10 },
    () => new Promise<readonly Row[]>((resolve) => (deliverRows = resolve)),
  );
  written.clear();
  deliverRows!([version("a", 1), version("b", 1)]);
  expect((await page).map(({ id, revision }) => [id, revision])).toEqual([
    ["a", 2],
    ["b", 1],
  ]);
});
