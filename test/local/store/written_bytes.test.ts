/** Tests the buffer of recently written bytes: which operations it has, and that reading them opens no file. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeFiles } from "../../../local/store/files.ts";
import { newWrittenBytes, type WrittenBytes } from "../../../local/store/written_bytes.ts";
import { openTestStore, temporaryFolder } from "./open_test_store.ts";

const MIB = 1024 * 1024;

/** Returns the operation at a location; operations end with a tab. */
function textAt(written: WrittenBytes, location: number): string | undefined {
  const found = written.find(location);
  return found && found.buffer.toString("utf8", found.start, found.end);
}

test("finds each operation of a batch, and nothing where none was written", () => {
  const written = newWrittenBytes(16 * MIB);
  written.add(100, Buffer.from("first\tsecond\t\n"));
  expect(textAt(written, 100)).toBe("first");
  expect(textAt(written, 106)).toBe("second");
  expect(textAt(written, 99)).toBeUndefined();
  expect(textAt(written, 113)).toBeUndefined();
  expect(textAt(written, 114)).toBeUndefined();
});

test("finds an operation only if its end was written too", () => {
  const written = newWrittenBytes(16 * MIB);
  written.add(0, Buffer.from("cut"));
  expect(textAt(written, 0)).toBeUndefined();
});

test("has the newest 16 MiB of batches shorter and longer than a chunk", () => {
  const written = newWrittenBytes(16 * MIB);
  written.add(0, Buffer.from("old\t"));
  const long = Buffer.concat([Buffer.alloc(1.5 * MIB, "x"), Buffer.from("\t")]);
  written.add(4, long);
  expect(textAt(written, 4)).toHaveLength(1.5 * MIB);
  const batch = Buffer.concat([Buffer.alloc(MIB - 1, "y"), Buffer.from("\t")]);
  const start = 4 + long.length;
  for (let n = 0; n < 14; n++) written.add(start + n * MIB, batch);
  expect(textAt(written, 0)).toBe("old");
  // These batches fill the sixteen chunks, so the next one takes the place of the oldest.
  written.add(start + 14 * MIB, Buffer.from("new\t"));
  expect(textAt(written, 0)).toBeUndefined();
  expect(textAt(written, start + 14 * MIB)).toBe("new");
  expect(textAt(written, start)).toHaveLength(MIB - 1);
});

test("distinguishes two files at the same offset", () => {
  const written = newWrittenBytes(16 * MIB);
  // A location is 2 ** 32 times the number of the file, plus the offset: here 0 in the files 256 and 512.
  const [first, second] = [2 ** 40, 2 ** 41];
  written.add(first, Buffer.from("a\t"));
  written.add(second, Buffer.from("b\t"));
  expect(textAt(written, first)).toBe("a");
  expect(textAt(written, second)).toBe("b");
});

test("a record just written is read from memory, a page from its files", async () => {
  let fileReads = 0;
  const files: typeof nodeFiles = {
    ...nodeFiles,
    read(...args) {
      fileReads++;
      return nodeFiles.read(...args);
    },
  };
  const store = await openTestStore(join(await temporaryFolder(), "state.json"), { files, memoryBytes: 64 * 1024 });
  for (let n = 0; n < 20; n++) await store.transact((tx) => tx.put("things", `t${n}`, `value ${n}`));
  fileReads = 0;
  expect((await store.get("things", "t3"))!.value).toBe("value 3");
  expect(fileReads).toBe(0);
  expect(await store.list("things", { limit: 1, uncached: true })).toMatchObject([{ value: "value 0" }]);
  expect(fileReads).toBe(1);
});

test("a record read from its file and then overwritten is read in its new version", async () => {
  const store = await openTestStore(join(await temporaryFolder(), "state.json"), { memoryBytes: 4096 });
  const put = (id: string, value: string) => store.transact((tx) => tx.put("things", id, value));
  const evict = async (): Promise<void> => {
    for (let n = 0; n < 20; n++) await put("other", "x".repeat(1000));
  };
  await put("a", "old");
  await evict();
  expect((await store.get("things", "a"))!.value).toBe("old");
  await put("a", "new");
  await evict();
  expect((await store.get("things", "a"))!.value).toBe("new");
});
