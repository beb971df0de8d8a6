/** Sealed journal files: the catalog file that lists their content, and their compaction. */
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { sequenceId } from "../../../lib/store/collections.ts";
import { visitOperations, readHead, StoreDamaged } from "../../../local/store/journal_format.ts";
import type { FileStore } from "../../../local/store/file_store.ts";
import { newCatalog, packLocation } from "../../../local/store/catalog.ts";
import { writeCompacted } from "../../../local/store/compaction.ts";
import { newSupersededRecords } from "../../../local/store/superseded_records.ts";
import { openSegment, scanLines, type Segment } from "../../../local/store/segment.ts";
import { type Files, nodeFiles } from "../../../local/store/files.ts";
import { COLLECTIONS, readContent, contentsOfWorkload, storedRecords, addWrites, workloadWrites } from "./model.ts";
import { withFaults, systemError } from "./faulty_files.ts";
import { type AnyFileStore, openTestStore, readableLog, temporaryFolder } from "./open_test_store.ts";

const SMALL = { segmentBytes: 4000 };
const contents = contentsOfWorkload(120);
let folder: string;
let state: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  state = join(folder, "state.json");
});

const segmentPath = (number: number): string => `${state}.journal.${String(number).padStart(6, "0")}.jsonl`;

async function commit(store: FileStore, first: number, last: number): Promise<void> {
  for (let n = first; n <= last; n++) await store.transact((tx) => addWrites(tx, workloadWrites(n)));
}

const sealedBytes = async (): Promise<number[]> => {
  const names = (await readdir(folder)).filter((name) => /journal\.\d+\.jsonl$/.test(name)).sort();
  return Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
};

/** Reads every operation of every journal file from the files. */
async function readOperations(): Promise<[string, string, number, unknown?][]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".jsonl")).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  const lines = texts.flatMap((text) => text.replace(/\0+$/, "").trimEnd().split("\n").slice(1));
  return lines.flatMap((line) => {
    const { audit: [first = 0, ...entries] = [], ops = [] } = JSON.parse(line) as {
      audit?: [number, ...unknown[]];
      ops?: [string, string, number, unknown?][];
    };
    const auditOperations = entries.map((value, index) => ["audit", sequenceId(first + index), 1, value] as const);
    return [...auditOperations.map((entry): [string, string, number, unknown?] => [...entry]), ...ops];
  });
}

test("a journal file that would grow too large is sealed, and all of them are read", async () => {
  const store = await openTestStore(state, SMALL);
  await commit(store, 1, 60);
  for (const bytes of await sealedBytes()) expect(bytes).toBeLessThanOrEqual(4000);
  expect(store.status().segments).toBe((await sealedBytes()).length + 1);
  expect(store.status().segments).toBeGreaterThan(4);
  expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(contents[60]!));
  await store.close();
  const again = await openTestStore(state, SMALL);
  expect(await readContent(again, COLLECTIONS)).toEqual(storedRecords(contents[60]!));
});

test("a commit larger than the maximum of a journal file is stored in one file", async () => {
  const store = await openTestStore(state, SMALL);
  for (const n of [1, 2]) await store.transact((tx) => tx.put("things", `large${n}`, "x".repeat(10_000)));
  expect(store.status().segments).toBe(2);
  await store.close();
  const again = await openTestStore(state, SMALL);
  expect((await again.list("things", { limit: 9 })).map(({ value }) => value.length)).toEqual([10_000, 10_000]);
});

describe("the catalog file", () => {
  test("lets a start skip the reading of sealed files", async () => {
    const store = await openTestStore(state, SMALL);
    await commit(store, 1, 60);
    await store.compact();
    await store.close();
    const sealed = new Set<number>();
    let longestRead = 0;
    const files: Files = {
      ...nodeFiles,
      async open(path, mode) {
        const fd = await nodeFiles.open(path, mode);
        if (/\.\d+\.jsonl$/.test(path)) sealed.add(fd);
        return fd;
      },
      read(fd, buffer, length, position) {
        if (sealed.has(fd)) longestRead = Math.max(longestRead, length);
        return nodeFiles.read(fd, buffer, length, position);
      },
      readNow(fd, buffer, length, position) {
        if (sealed.has(fd)) longestRead = Math.max(longestRead, length);
        return nodeFiles.readNow(fd, buffer, length, position);
      },
    };
    const again = await openTestStore(state, { ...SMALL, files });
    expect(sealed.size).toBeGreaterThan(4);
    // Only headers and single records were read: a scan reads a megabyte at a time.
    expect(longestRead).toBeLessThan(20_000);
    expect(await readContent(again, COLLECTIONS)).toEqual(storedRecords(contents[60]!));
  });

  test.each([true, false])(
    "is not needed for the revision after a concurrent delete and put; it exists: %s",
    async (hasCatalog) => {
      const store = await openTestStore(state);
      for (let n = 0; n < 5; n++) await store.transact((tx) => tx.put("things", "again", n));
      await Promise.all([
        store.transact((tx) => tx.delete("things", "again")),
        store.transact((tx) => tx.put("things", "again", "new")),
      ]);
      await store.expunge!();
      await store.close();
      if (!hasCatalog) await rm(`${state}.journal.catalog`);
      const started = await openTestStore(state);
      await started.transact((tx) => tx.put("things", "new", 1));
      expect((await started.get("things", "new"))!.revision).toBe(6);
    },
  );

  test("is written when it lacks some segments, and when the store is closed", async () => {
    const catalog = `${state}.journal.catalog`;
    const countListedSegments = async (): Promise<number> =>
      (JSON.parse((await readFile(catalog, "utf8")).split("\n")[0]!) as { segments: unknown[] }).segments.length;
    const store = await openTestStore(state, SMALL);
    await commit(store, 1, 60);
    await store.compact();
    expect(store.status().segments - 1 - (await countListedSegments())).toBeLessThan(4);
    await rm(catalog);
    await commit(store, 61, 70);
    await store.close();
    expect(await countListedSegments()).toBe(store.status().segments - 1);
  });
});

test("a record whose id was edited in its file is reported with file and offset, and not read", async () => {
  const store = await openTestStore(state, SMALL);
  await store.transact((tx) => tx.put("live", "kept", true));
  await commit(store, 1, 60);
  await store.close();
  const text = await readFile(segmentPath(1), "latin1");
  await writeFile(segmentPath(1), text.replace('"live","kept"', '"live","gone"'), "latin1");
  const again = await openTestStore(state, SMALL);
  const offset = text.indexOf('["live","kept"');
  for (const read of [again.get("live", "kept"), again.list("live", { limit: 50 })]) {
    const error = await read.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(StoreDamaged);
    expect(error).toMatchObject({ file: segmentPath(1), offset });
  }
  expect((await again.get("audit", "0000000000000003"))?.id).toBe("0000000000000003");
});

test("damage in a file that a start did not read is reported with the range of its entries", async () => {
  const store = await openTestStore(state, SMALL);
  await commit(store, 1, 60);
  await store.compact();
  await store.close();
  const bytes = await readFile(segmentPath(2));
  const offset = bytes.indexOf("\n") + 1;
  const auditPosition = bytes.indexOf("audit", offset);
  // Changes one character of the first line.
  bytes[auditPosition + 30]! ^= 1;
  await writeFile(segmentPath(2), bytes);
  const log = readableLog();
  const again = await openTestStore(state, { ...SMALL, log });
  await again.compact();
  const reported = log.lines.filter(({ level }) => level === "error");
  expect(reported).toHaveLength(1);
  expect(reported[0]!.fields).toMatchObject({
    file: segmentPath(2),
    reason: expect.stringContaining(`byte ${offset}: the line does not match its checksum`) as string,
    holds: expect.stringMatching(
      /^commits \d+ to \d+, audit entries \d+ to \d+, \d+ current records in all$/,
    ) as string,
  });
  expect(await readFile(segmentPath(2)), "nothing is written over it").toEqual(bytes);
});

describe("compaction", () => {
  test("removes superseded versions, keeps all audit entries, and changes no read", async () => {
    const store = await openTestStore(state, SMALL);
    await commit(store, 1, 60);
    await store.compact();
    const before = await readContent(store, COLLECTIONS);
    expect(before).toEqual(storedRecords(contents[60]!));
    const remaining = await readOperations();
    expect(remaining.filter(([collection]) => collection === "audit").map(([, id]) => Number(id))).toEqual(
      Array.from({ length: 60 }, (_, index) => index + 1),
    );
    // Each of the 60 commits wrote a version of `meta`.
    const metaVersions = remaining.filter(([collection]) => collection === "meta").length;
    expect(metaVersions).toBeLessThan(15);
    await store.close();
    await rm(state);
    for (const name of await readdir(folder)) if (name.endsWith(".catalog")) await rm(join(folder, name));
    const again = await openTestStore(state, SMALL);
    expect(await readContent(again, COLLECTIONS)).toEqual(before);
    await commit(again, 61, 70);
    expect(await readContent(again, COLLECTIONS)).toEqual(storedRecords(contents[70]!));
  });

  test("leaves only the highest revision of deleted records once no older file has them", async () => {
    const store = await openTestStore(state, SMALL);
    for (let n = 1; n <= 40; n++) {
      await store.transact((tx) => tx.put("live", `row-${n}`, "x".repeat(100)));
      if (n > 5) await store.transact((tx) => tx.delete("live", `row-${n - 5}`));
    }
    await commit(store, 1, 20);
    await store.compact();
    const rows = (await readOperations()).filter(([collection, id]) => collection === "live" && /^row-|^$/.test(id));
    const ids = new Set(rows.map(([, id]) => id));
    // The operation with the empty id stores the highest revision of the deleted records.
    expect([...ids].sort()).toEqual(["", "row-36", "row-37", "row-38", "row-39", "row-40"]);
    const { revision } = (await store.get("live", "row-40"))!;
    await store.transact((tx) => tx.delete("live", "row-40"));
    await store.close();
    await rm(`${state}.journal.catalog`);
    const again = await openTestStore(state, SMALL);
    await again.transact((tx) => tx.put("live", "row-1", "back", 0));
    expect((await again.get("live", "row-1"))?.revision).toBe(revision + 1);
  });

  test("keeps a deletion while an older file that is not compacted has the deleted record", async () => {
    const log = readableLog();
    const store = await openTestStore(state, { ...SMALL, log });
    for (let n = 0; n < 20; n++) await store.transact((tx) => tx.put("things", `kept-${n}`, "x".repeat(150)));
    await store.transact((tx) => tx.delete("things", "kept-3"));
    for (let n = 0; n < 60; n++) await store.transact((tx) => tx.put("things", "again", "x".repeat(150)));
    const compacted = () => log.lines.filter(({ message }) => message === "journal segment compacted");
    await expect.poll(() => compacted().map(({ fields }) => fields!["file"])).toContain(segmentPath(2));
    expect(compacted().map(({ fields }) => fields!["file"])).not.toContain(segmentPath(1));
    await store.close();
    await rm(`${state}.journal.catalog`);
    const again = await openTestStore(state, SMALL);
    expect(await again.get("things", "kept-3")).toBeUndefined();
    expect(await again.list("things", { limit: 50, keysOnly: true })).toHaveLength(20);
  });

  test("removes deletions of records that no older file has", async () => {
    const store = await openTestStore(state, SMALL);
    for (let n = 0; n < 20; n++) await store.transact((tx) => tx.put("things", `kept-${n}`, "x".repeat(150)));
    await store.transact((tx) => tx.delete("things", "kept-3"));
    for (let n = 0; n < 200; n++)
      await store.transact((tx) => {
        tx.put("ring", sequenceId(n), "x".repeat(150));
        if (n >= 5) tx.delete("ring", sequenceId(n - 5));
      });
    const deletions = async (): Promise<string[]> => {
      const sealed = (await readdir(folder)).filter((name) => /\d\.jsonl$/.test(name));
      const texts = await Promise.all(sealed.map((name) => readFile(join(folder, name), "utf8")));
      return texts.flatMap((text) => text.match(/\["[a-z]+","[^"]+",\d+\]/g) ?? []);
    };
    await expect.poll(async () => (await deletions()).length).toBeLessThan(30);
    expect(await deletions()).toContain('["things","kept-3",1]');
    await store.close();
    await rm(`${state}.journal.catalog`);
    const again = await openTestStore(state, SMALL);
    expect(await again.get("things", "kept-3")).toBeUndefined();
    expect(await again.list("ring", { limit: 50, keysOnly: true })).toHaveLength(5);
  });

  test("reads other files only once, and only those from before the start", async () => {
    const read = new Set<string>();
    const paths = new Map<number, string>();
    const files: Files = {
      ...nodeFiles,
      async open(path, mode) {
        const fd = await nodeFiles.open(path, mode);
        paths.set(fd, path);
        return fd;
      },
      async rename(from, to) {
        await nodeFiles.rename(from, to);
        for (const [fd, path] of paths) if (path === from) paths.set(fd, to);
      },
      read(fd, buffer, length, position) {
        read.add(paths.get(fd)!);
        return nodeFiles.read(fd, buffer, length, position);
      },
      readNow(fd, buffer, length, position) {
        read.add(paths.get(fd)!);
        return nodeFiles.readNow(fd, buffer, length, position);
      },
    };
    const log = readableLog();
    const store = await openTestStore(state, { ...SMALL, files, log });
    for (let n = 0; n < 20; n++) await store.transact((tx) => tx.put("things", `kept-${n}`, "x".repeat(150)));
    const compacted = () => log.lines.filter(({ message }) => message === "journal segment compacted").length;
    let counter = 0;
    /** Fills some files with records that are deleted again, and waits until the files are compacted. */
    const fillAndCompact = async (target: AnyFileStore): Promise<void> => {
      const before = compacted();
      for (let n = 0; n < 60; n++, counter++)
        await target.transact((tx) => {
          tx.put("ring", sequenceId(counter), "x".repeat(150));
          if (counter >= 5) tx.delete("ring", sequenceId(counter - 5));
        });
      await expect.poll(compacted).toBeGreaterThan(before);
    };
    await store.transact((tx) => tx.delete("things", "kept-3"));
    read.clear();
    await fillAndCompact(store);
    await fillAndCompact(store);
    await store.close();
    expect(read).toContain(segmentPath(2));
    expect(read).not.toContain(segmentPath(1));
    const again = await openTestStore(state, { ...SMALL, files, log });
    await fillAndCompact(again);
    expect(read).toContain(segmentPath(1));
    read.clear();
    await fillAndCompact(again);
    expect(read).not.toContain(segmentPath(1));
    await again.close();
    await rm(`${state}.journal.catalog`);
    expect(await (await openTestStore(state, SMALL)).get("things", "kept-3")).toBeUndefined();
  });

  test("notices a record that is superseded while its file is read", async () => {
    const store = await openTestStore(state, SMALL);
    for (let n = 0; n < 20; n++) await store.transact((tx) => tx.put("things", `kept-${n}`, "x".repeat(150)));
    await store.transact((tx) => tx.delete("things", "kept-1"));
    for (let n = 0; n < 20; n++) await store.transact((tx) => tx.put("things", `more-${n}`, "x".repeat(150)));
    await store.close();
    const superseded = newSupersededRecords();
    const catalog = newCatalog([], superseded.add);
    const segments = await Promise.all([1, 2].map((file) => openSegment(nodeFiles, segmentPath(file), file, "read")));
    const [first, second] = segments as [Segment, Segment];
    await scanLines(nodeFiles, first, first.firstOffset, (buffer, start, end, offset) =>
      visitOperations(buffer, readHead(buffer, start)!.body, end, ({ collection, id, start: at }) =>
        catalog.put(collection, id, packLocation(1, offset + at - start)),
      ),
    );
    const locate: typeof catalog.locate = (collection, id) => {
      // By now `kept-1` has been located as current; it is superseded only afterwards.
      if (id === "kept-5") catalog.delete("things", "kept-1", 1);
      return catalog.locate(collection, id);
    };
    const reading = { files: nodeFiles, catalog: { ...catalog, locate }, stopped: () => false };
    const isInOlder = await superseded.findDeletedIn(second, [first], reading);
    expect([isInOlder("things", "kept-1"), isInOlder("things", "kept-2")]).toEqual([true, false]);
    await Promise.all(segments.map(({ fd }) => nodeFiles.close(fd)));
  });

  test("keeps the deletion of a record that was superseded during the compaction of its file", async () => {
    const log = readableLog();
    let meanwhile: Promise<unknown> | undefined;
    const files: Files = {
      ...nodeFiles,
      async open(path, mode) {
        if (path === `${segmentPath(1)}.tmp`)
          await (meanwhile ??= store.transact((tx) => tx.delete("things", "kept-15")));
        return nodeFiles.open(path, mode);
      },
    };
    const store = await openTestStore(state, { ...SMALL, files, log });
    for (let n = 0; n < 20; n++) await store.transact((tx) => tx.put("things", `kept-${n}`, "x".repeat(150)));
    for (let n = 0; n < 12; n++) await store.transact((tx) => tx.put("things", `kept-${n}`, "new"));
    for (let n = 0; n < 60; n++) await store.transact((tx) => tx.put("things", "again", "x".repeat(150)));
    await expect.poll(() => meanwhile !== undefined).toBe(true);
    await meanwhile;
    for (let n = 0; n < 60; n++) await store.transact((tx) => tx.put("things", "again", "x".repeat(150)));
    const compacted = () => log.lines.map(({ fields }) => fields?.["file"]);
    await expect.poll(compacted).toContain(segmentPath(4));
    await store.close();
    // The compacted file still has the record, so the deletion in a later file is needed.
    expect(await readFile(segmentPath(1), "utf8")).toContain("kept-15");
    await rm(`${state}.journal.catalog`);
    expect(await (await openTestStore(state, SMALL)).get("things", "kept-15")).toBeUndefined();
  });

  test("keeps revisions of deleted records, and deletions of records in an older file", async () => {
    const store = await openTestStore(state, SMALL);
    for (let count = 0; count < 3; count++) await store.transact((tx) => tx.put("things", "gone", count));
    await commit(store, 1, 20);
    await store.transact((tx) => tx.delete("things", "gone"));
    await commit(store, 21, 60);
    await store.compact();
    await store.close();
    for (const name of await readdir(folder)) if (name.endsWith(".catalog")) await rm(join(folder, name));
    const again = await openTestStore(state, SMALL);
    expect(await again.get("things", "gone")).toBeUndefined();
    await again.transact((tx) => tx.put("things", "gone", "back", 0));
    expect((await again.get("things", "gone"))?.revision).toBe(4);
  });

  test("starts by itself when half of a file is superseded", async () => {
    const log = readableLog();
    const store = await openTestStore(state, { ...SMALL, log });
    await commit(store, 1, 100);
    await store.close();
    const compacted = log.lines.filter(({ message }) => message === "journal segment compacted");
    expect(compacted.length).toBeGreaterThan(0);
    expect(compacted[0]!.fields).toMatchObject({ file: segmentPath(1) });
    const again = await openTestStore(state, SMALL);
    expect(await readContent(again, COLLECTIONS)).toEqual(storedRecords(contents[100]!));
  });

  test("goes on while commits are made and records are read", async () => {
    const store = await openTestStore(state, { segmentBytes: 200_000 });
    const FIRST_COMMITS = 600;
    const longContents = contentsOfWorkload(FIRST_COMMITS + 200);
    for (let n = 1; n <= FIRST_COMMITS; n += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, index) => store.transact((tx) => addWrites(tx, workloadWrites(n + index)))),
      );
    const compacting = store.compact();
    for (let n = FIRST_COMMITS + 1; n <= FIRST_COMMITS + 200; n++) {
      await store.transact((tx) => addWrites(tx, workloadWrites(n)));
      if (n % 20 === 0) expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(longContents[n]!));
    }
    await compacting;
    expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(longContents[FIRST_COMMITS + 200]!));
  });

  test("never removes an audit entry, whatever the catalog says", async () => {
    const store = await openTestStore(state, SMALL);
    await commit(store, 1, 20);
    await store.close();
    const segment = await openSegment(nodeFiles, segmentPath(1), 1, "read");
    const lines = (await readFile(segmentPath(1), "utf8")).trimEnd().split("\n").slice(1);
    segment.last = (JSON.parse(lines.at(-1)!) as { n: number }).n;
    const compaction = {
      files: nodeFiles,
      catalog: newCatalog([], () => undefined),
      sequences: ["audit"],
      stopped: () => false,
    };
    const compacted = await writeCompacted(compaction, segment, {
      file: 2,
      writtenAt: "2026-01-02",
      isInOlderSegment: () => false,
    });
    const remaining = (await readFile(`${segmentPath(1)}.tmp`, "utf8")).trimEnd().split("\n").slice(1);
    const entries = remaining.map((line) => (JSON.parse(line) as { audit: unknown[] }).audit);
    expect(entries).toEqual([[1, ...lines.map((_, index) => workloadWrites(index + 1)[0]!.value)]]);
    await Promise.all([segment, compacted!.segment].map(({ fd }) => nodeFiles.close(fd)));
  });

  test.each([
    ["does not begin there", ({ firstOffset: begins }: Segment) => begins + 10],
    ["would lie beyond its end", ({ bytes }: Segment) => bytes + 100],
  ])("is rejected where the catalog names a record that %s", async (_, offsetIn) => {
    const store = await openTestStore(state, SMALL);
    await commit(store, 1, 20);
    await store.close();
    const segment = await openSegment(nodeFiles, segmentPath(1), 1, "read");
    const catalog = newCatalog(["audit"], () => undefined);
    const offset = offsetIn(segment);
    catalog.put("things", "r1", packLocation(1, offset));
    const compaction = { files: nodeFiles, catalog, stopped: () => false };
    const to = { file: 2, writtenAt: "2026-01-02", isInOlderSegment: () => false };
    const damage = `byte ${offset}: a record should begin here`;
    await expect(writeCompacted(compaction, segment, to)).rejects.toThrow(damage);
    expect(await readdir(folder)).not.toContain(basename(`${segmentPath(1)}.tmp`));
    await nodeFiles.close(segment.fd);
  });

  test("on request removes the ids of deleted records everywhere, also from the catalog file", async () => {
    const store = await openTestStore(state, { segmentBytes: 100_000 });
    await store.transact((tx) => tx.put("things", "id-of-somebody", "their value"));
    await store.compact();
    await store.expunge!();
    await store.close();
    const again = await openTestStore(state, { segmentBytes: 100_000 });
    expect(await readFile(`${state}.journal.catalog`, "utf8")).toContain("id-of-somebody");
    await again.transact((tx) => tx.delete("things", "id-of-somebody"));
    await again.expunge!();
    // One call is enough; this one has nothing left to remove.
    await again.expunge!();
    for (const name of await readdir(folder, { recursive: true })) {
      const content = name.endsWith("lock") ? "" : await readFile(join(folder, name), "latin1");
      expect(content, name).not.toContain("id-of-somebody");
    }
  });

  test("a second time removes nothing more", async () => {
    const store = await openTestStore(state, SMALL);
    await commit(store, 1, 60);
    await store.compact();
    const before = await sealedBytes();
    await store.compact();
    expect(await sealedBytes()).toEqual(before);
  });

  test("does not trust a catalog that lists fewer records than are current", async () => {
    const store = await openTestStore(state, SMALL);
    await commit(store, 1, 20);
    await store.close();
    const segment = await openSegment(nodeFiles, segmentPath(1), 1, "read");
    segment.live = 1;
    const compaction = {
      files: nodeFiles,
      catalog: newCatalog(["audit"], () => undefined),
      sequences: ["audit"],
      stopped: () => false,
    };
    const to = { file: 2, writtenAt: "2026-01-02", isInOlderSegment: () => false };
    await expect(writeCompacted(compaction, segment, to)).rejects.toThrow("1 records are live in it, and 0 are known");
    await nodeFiles.close(segment.fd);
  });

  test("never puts a new checksum on a damaged line", async () => {
    const store = await openTestStore(state, SMALL);
    for (let n = 0; n < 60; n++) await store.transact((tx) => tx.put("things", `r${n}`, { value: "v".repeat(100) }));
    await store.close();
    const text = (await readFile(segmentPath(1), "latin1")).replace("vvv", "vwv");
    await writeFile(segmentPath(1), text, "latin1");
    const log = readableLog();
    const again = await openTestStore(state, { ...SMALL, log });
    await again.transact((tx) => tx.put("things", "r1", "superseded"));
    await again.compact();
    expect(again.faults!().damaged).toHaveLength(1);
    expect(await readFile(segmentPath(1), "latin1")).toBe(text);
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
    await again.transact((tx) => tx.put("things", "r2", "superseded"));
  });

  test("that fails is reported, retried by the next cycle, and loses nothing", async () => {
    let broken = false;
    let renames = 0;
    const files = withFaults(nodeFiles, (call, [from]) =>
      broken && call === "rename" && /\d\.jsonl\.tmp$/.test(String(from)) ? (renames++, systemError("EIO")) : undefined,
    );
    const log = readableLog();
    const store = await openTestStore(state, { segmentBytes: 1_000_000, files, log });
    await commit(store, 1, 40);
    await store.close();
    const again = await openTestStore(state, { segmentBytes: 10, files, log });
    broken = true;
    await commit(again, 41, 60);
    await again.compact().catch(() => undefined);
    const renamesBefore = renames;
    await commit(again, 61, 70);
    expect(renames).toBe(renamesBefore);
    await again.inspect!();
    expect(renames).toBe(renamesBefore + 1);
    expect(again.faults!().compaction).toContain("EIO");
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
    expect(again.status().failure).toBeUndefined();
    expect(await readContent(again, COLLECTIONS)).toEqual(storedRecords(contents[70]!));
    await again.close();
    const third = await openTestStore(state);
    expect(await readContent(third, COLLECTIONS)).toEqual(storedRecords(contents[70]!));
  });
});

test("an uncached list shows edits of the files", async () => {
  const path = join(await temporaryFolder(), "state.json");
  const store = await openTestStore(path, { memoryBytes: 4096 });
  await store.transact((tx) => tx.put("audit", sequenceId(1), { id: "original" }));
  await store.transact((tx) => tx.put("things", "a", "original"));
  const journal = await readFile(`${path}.journal.jsonl`);
  await writeFile(`${path}.journal.jsonl`, journal.toString("latin1").replaceAll("original", "tampered"), "latin1");
  const texts = async (uncached: boolean) =>
    Promise.all(["audit", "things"].map(async (name) => (await store.texts(name, { limit: 1, uncached }))[0]!.text));
  expect(await texts(true)).toEqual(['{"id":"tampered"}', '"tampered"']);
  expect((await texts(false))[0]).toBe('{"id":"original"}');
});
