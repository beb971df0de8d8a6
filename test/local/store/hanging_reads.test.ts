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
import { opened, temporaryFolder } from "./opened.ts";

let state: string;
beforeEach(async () => {
  state = join(await temporaryFolder(), "state.json");
});

/** Files of which a read can be held back. */
function heldReads() {
  let held: Promise<void> | undefined;
  let arrived = (): void => undefined;
  let replaced = (): void => undefined;
  const closed = new Set<number>();
  const reading = new Set<number>();
  const files: Files = {
    ...nodeFiles,
    async read(fd, buffer, length, position) {
      const first = held;
      held = undefined;
      if (first) {
        reading.add(fd);
        arrived();
        await first;
        reading.delete(fd);
      }
      return nodeFiles.read(fd, buffer, length, position);
    },
    async rename(from, to) {
      await nodeFiles.rename(from, to);
      if (/journal\.\d+\.jsonl$/.test(to)) replaced();
    },
    async close(fd) {
      if (reading.has(fd)) closed.add(fd);
      await nodeFiles.close(fd);
    },
  };
  return {
    files,
    /** Files that were closed while they were read. */
    closed,
    /** Resolves when a sealed file is replaced. */
    replacing: () => new Promise<void>((resolve) => (replaced = resolve)),
    /** Holds the next read until `release` is called; `reached` resolves when it is being held. */
    hold() {
      let release = (): void => undefined;
      held = new Promise((resolve) => (release = resolve));
      const reached = new Promise<void>((resolve) => (arrived = resolve));
      return { reached, release };
    },
  };
}

test("livez and other reads answer while a read of the disk hangs", async () => {
  const { files, hold } = heldReads();
  const store = (await opened(state, { files })) as unknown as Store;
  const api = await service({ store });
  await api.propose();
  const { reached, release } = hold();
  const verified = api.get("audit/verify");
  await reached;
  expect((await api.get("/livez")).status).toBe(200);
  expect((await api.get("audit?limit=1")).status).toBe(200);
  release();
  expect((await verified).body).toMatchObject({ valid: true });
});

/** Turns of the event loop in which work that does not wait for the read would have gone on to its end. */
async function turns(): Promise<void> {
  for (let n = 0; n < 500; n++) await nextTurn();
}

/** A store of some sealed files, of whose records none is in memory. */
async function coldStore(files: Files) {
  const store = await opened(state, { files, segmentBytes: 1000, memoryBytes: 4096 });
  for (let n = 0; n < 40; n++) await store.transact((tx) => tx.put("things", `t${n}`, `${n}`.padEnd(100, "x")));
  for (let n = 1; n < 40; n += 2) await store.transact((tx) => tx.delete("things", `t${n}`));
  // No work in the background reads from now on.
  await store.compact();
  return store;
}

test("a file stays open while it is read, also when compaction replaces it meanwhile", async () => {
  const { files, hold, closed, replacing } = heldReads();
  const store = await coldStore(files);
  const { reached, release } = hold();
  const found = store.get("things", "t2");
  await reached;
  const isReplaced = replacing();
  // Others that lie in the same file.
  for (const id of ["t0", "t4"]) await store.transact((tx) => tx.delete("things", id));
  const compacted = store.compact();
  await isReplaced;
  await turns();
  release();
  expect((await found)!.value).toBe("2".padEnd(100, "x"));
  await compacted;
  expect(closed.size).toBe(0);
  expect((await store.get("things", "t2"))!.value).toBe("2".padEnd(100, "x"));
});

test("a record that is overwritten during a read is not cached in its old version", async () => {
  const { files, hold } = heldReads();
  const store = await coldStore(files);
  const { reached, release } = hold();
  const before = store.get("things", "t2");
  await reached;
  await store.transact((tx) => tx.put("things", "t2", "new"));
  release();
  await before;
  expect((await store.get("things", "t2"))!.value).toBe("new");
});

test("closing the store waits for a running read", async () => {
  const { files, hold, closed } = heldReads();
  const store = await coldStore(files);
  const { reached, release } = hold();
  const found = store.get("things", "t2");
  await reached;
  const closing = store.close();
  await turns();
  release();
  expect((await found)!.value).toBe("2".padEnd(100, "x"));
  await closing;
  expect(closed.size).toBe(0);
});

test("a write that becomes durable while the page below it is read is listed once", async () => {
  const version = (id: string, revision: number): Version => ({ collection: "things", id, revision, json: json("x") });
  const written = new Map([["a", version("a", 2)]]);
  let give: (rows: readonly Row[]) => void;
  const page = mergeList(written, { limit: 10 }, () => new Promise<readonly Row[]>((resolve) => (give = resolve)));
  written.clear();
  give!([version("a", 1), version("b", 1)]);
  expect((await page).map(({ id, revision }) => [id, revision])).toEqual([
    ["a", 2],
    ["b", 1],
  ]);
});
