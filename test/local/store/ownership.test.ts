/** Two processes with one journal, as after the lock was removed: no acknowledged commit of either is lost. */
import { copyFile, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { toAppError } from "../../../lib/http/error_response.ts";
import { StoreUnavailable } from "../../../lib/store/store.ts";
import { type Files, nodeFiles } from "../../../local/store/files.ts";
import { OwnershipLost } from "../../../local/store/ownership.ts";
import { type AnyFileStore, openTestStore, temporaryFolder } from "./open_test_store.ts";

const newPaths = async (): Promise<{ path: string; journal: string }> => {
  const path = join(await temporaryFolder(), "state.json");
  return { path, journal: `${path}.journal.jsonl` };
};

const put = (store: AnyFileStore, id: string) => store.transact((tx) => tx.put("notes", id, { id }));
const ids = async (store: AnyFileStore): Promise<string[]> =>
  (await store.list("notes", { limit: 1000 })).map(({ id }) => id);
const expectUnavailable = (write: Promise<unknown>): Promise<unknown> =>
  expect(write).rejects.toThrow(StoreUnavailable);

test("a store that another process opened later rejects writes, with the reason", async () => {
  const { path } = await newPaths();
  const first = await openTestStore(path);
  await put(first, "a");
  const second = await openTestStore(path);
  const error: Error = await put(first, "b").then(
    () => expect.unreachable(),
    (caught: Error) => caught,
  );
  expect(error.message).toContain("It was replaced, or another process took it over");
  expect(first.status().failure).toBe(error.message);
  expect(toAppError(error).message).toContain("only one may run");
  expect(toAppError(error).message).not.toContain(path);
  await put(second, "c");
  await put(second, "d");
  await expectUnavailable(put(first, "e"));
  expect(await ids(first)).toEqual(["a"]);
  await first.close();
  await put(second, "f");
  await second.close();
  expect(await ids(await openTestStore(path))).toEqual(["a", "c", "d", "f"]);
});

test("a store that was opened earlier does not truncate the journal when it closes", async () => {
  const { path } = await newPaths();
  const first = await openTestStore(path);
  await put(first, "a");
  const second = await openTestStore(path);
  await put(second, "b");
  await first.close();
  await put(second, "c");
  await second.close();
  expect(await ids(await openTestStore(path))).toEqual(["a", "b", "c"]);
});

test("of three stores opened before any write only the last one can write", async () => {
  const { path } = await newPaths();
  const stores = [await openTestStore(path), await openTestStore(path), await openTestStore(path)];
  await put(stores[2]!, "a");
  await expectUnavailable(put(stores[0]!, "b"));
  await expectUnavailable(put(stores[1]!, "c"));
  await stores[2]!.close();
  expect(await ids(await openTestStore(path))).toEqual(["a"]);
});

test("a commit written while another process opens the store is read, and not truncated", async () => {
  const { path } = await newPaths();
  const first = await openTestStore(path);
  await put(first, "a");
  let commit: Promise<unknown> | undefined;
  const files: Files = {
    ...nodeFiles,
    // A store lengthens the journal when it opens, after it has read it.
    async lengthen(name) {
      await (commit ??= put(first, "b"));
      await nodeFiles.lengthen(name);
    },
  };
  const second = await openTestStore(path, { files });
  await expectUnavailable(put(first, "c"));
  await put(second, "d");
  await first.close();
  await second.close();
  expect(await ids(await openTestStore(path))).toEqual(["a", "b", "d"]);
});

test("a journal that another process keeps writing is not opened and not truncated", async () => {
  const { path, journal } = await newPaths();
  const first = await openTestStore(path);
  await put(first, "a");
  const fd = await nodeFiles.open(journal, "write");
  // The journal ends with zeros, which are reserved for later lines.
  let end = (await readFile(journal)).findLastIndex((byte) => byte !== 0) + 1;
  const files: Files = {
    ...nodeFiles,
    async lengthen(name) {
      nodeFiles.writeNow(fd, Buffer.from("{"), end++);
      await nodeFiles.lengthen(name);
    },
  };
  await expect(openTestStore(path, { files })).rejects.toThrow(OwnershipLost);
  await nodeFiles.close(fd);
  // Each of three tries to open it found another byte.
  expect((await readFile(journal, "utf8")).replaceAll("\0", "").endsWith("{{{")).toBe(true);
});

test("a batch during whose sync another process opened the store is not acknowledged", async () => {
  const { path } = await newPaths();
  let second: AnyFileStore | undefined;
  let openDuringSync = false;
  const files: Files = {
    ...nodeFiles,
    async sync(fd) {
      await nodeFiles.sync(fd);
      if (openDuringSync) second ??= await openTestStore(path);
    },
  };
  const first = await openTestStore(path, { files });
  await put(first, "a");
  openDuringSync = true;
  await expectUnavailable(put(first, "b"));
  await put(second!, "c");
  await first.close();
  await second!.close();
  const stored = await ids(await openTestStore(path));
  // `b` was written before its sync, so it may be there.
  expect(stored.filter((id) => id !== "b")).toEqual(["a", "c"]);
});

test.each([
  ["replaced", async (journal: string) => rename(`${journal}.copy`, journal), "is another file than the one"],
  ["removed", async (journal: string) => rm(journal), "is gone"],
] as const)("a store whose journal was %s rejects writes", async (_, damage, reason) => {
  const { path, journal } = await newPaths();
  const store = await openTestStore(path);
  await put(store, "a");
  await copyFile(journal, `${journal}.copy`);
  await damage(journal);
  const error: Error = await put(store, "b").then(
    () => expect.unreachable(),
    (caught: Error) => caught,
  );
  expect(error.message).toContain(reason);
  await expectUnavailable(put(store, "c"));
});

test("a late write of a former owner loses no acknowledged commit", async () => {
  const { path } = await newPaths();
  let isWriteDelayed = false;
  let second: AnyFileStore | undefined;
  let writeLate = (): void => undefined;
  const files: Files = {
    ...nodeFiles,
    writeNow(fd, bytes, position) {
      if (!isWriteDelayed) return nodeFiles.writeNow(fd, bytes, position);
      const late = Buffer.from(bytes);
      const earlierWrites = writeLate;
      writeLate = () => {
        earlierWrites();
        nodeFiles.writeNow(fd, late, position);
      };
      return bytes.length;
    },
    async sync(fd) {
      if (isWriteDelayed) {
        second = await openTestStore(path);
        for (const id of ["b", "c", "d"]) await put(second, id);
        writeLate();
      }
      await nodeFiles.sync(fd);
    },
  };
  const first = await openTestStore(path, { files });
  await put(first, "a");
  isWriteDelayed = true;
  await expectUnavailable(put(first, "late"));
  await put(second!, "e");
  await second!.close();
  expect(await ids(await openTestStore(path))).toEqual(["a", "b", "c", "d", "e"]);
});

test.runIf(process.platform === "linux")(
  "a removed journal can be restored by the command in the error message",
  async () => {
    const { path, journal } = await newPaths();
    const store = await openTestStore(path);
    for (const id of ["a", "b", "c"]) await put(store, id);
    await rm(journal);
    const error: Error = await put(store, "d").then(
      () => expect.unreachable(),
      (caught: Error) => caught,
    );
    const [, from, to] = /copy it back: cp (\S+) '([^']+)'\. Then restart/.exec(error.message)!;
    await copyFile(from!, to!);
    await store.close();
    expect(await ids(await openTestStore(path))).toEqual(["a", "b", "c"]);
  },
);

test("ownership is checked on the journal file that follows a sealed one", async () => {
  const { path } = await newPaths();
  const store = await openTestStore(path, { segmentBytes: 2000 });
  for (let number = 0; number < 60; number++) await put(store, `n${String(number).padStart(2, "0")}`);
  expect(store.status().segments).toBeGreaterThan(1);
  const second = await openTestStore(path);
  await expectUnavailable(put(store, "x"));
  await put(second, "y");
  await second.close();
  expect(await ids(await openTestStore(path))).toHaveLength(61);
});
