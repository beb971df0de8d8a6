/** Starts with files that are torn, damaged, missing or of another store. */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { type Files, nodeFiles } from "../../../local/store/files.ts";
import { makeLine, StoreDamaged, makeTrailer } from "../../../local/store/journal_format.ts";
import { COLLECTIONS, readContent, contentsOfWorkload, storedRecords, addWrites, workloadWrites } from "./model.ts";
import { openTestStore, readableLog, temporaryFolder } from "./open_test_store.ts";

let folder: string;
let state: string;
let journal: string;
const contents = contentsOfWorkload(60);

beforeEach(async () => {
  folder = await temporaryFolder();
  state = join(folder, "state.json");
  journal = `${state}.journal.jsonl`;
});

/** Creates the files of a closed store with a number of commits and an up-to-date catalog file. */
async function createFiles(count: number, options = {}): Promise<void> {
  const store = await openTestStore(state, options);
  for (let n = 1; n <= count; n++) await store.transact((tx) => addWrites(tx, workloadWrites(n)));
  await store.close();
}

/** Reads the lines of the journal: line 0 is its header, and line n is commit n. */
const lines = async (): Promise<string[]> => (await readFile(journal, "utf8")).trimEnd().split("\n");
const rewriteJournal = (changed: string[]): Promise<void> =>
  writeFile(journal, changed.map((line) => `${line}\n`).join(""));
const lineOffset = (all: string[], index: number): number => Buffer.byteLength(all.slice(0, index).join("\n")) + 1;
const segmentPath = (number: number): string => `${state}.journal.00000${number}.jsonl`;
const catalogPath = (): string => `${state}.journal.catalog`;

/** Expects that the store opens with the content of the first `count` commits. */
async function expectContent(count: number, options = {}): Promise<void> {
  const store = await openTestStore(state, options);
  expect(store.status().sequence).toBe(count);
  expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(contents[count]!));
  await store.close();
}

/** Expects that the start fails with file and offset, touches no file and leaves none open. */
async function expectDamage(file: string, offset: number, message: RegExp): Promise<void> {
  const readFiles = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      await Promise.all(
        (await readdir(folder)).map(async (name) => [name, await readFile(join(folder, name), "latin1")]),
      ),
    );
  const before = await readFiles();
  const open = new Set<number>();
  const countingFiles: Files = {
    ...nodeFiles,
    async open(path, mode) {
      const fd = await nodeFiles.open(path, mode);
      open.add(fd);
      return fd;
    },
    close(fd) {
      open.delete(fd);
      return nodeFiles.close(fd);
    },
  };
  const error = await openTestStore(state, { files: countingFiles }).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(StoreDamaged);
  expect(error).toMatchObject({ file, offset });
  expect((error as Error).message).toContain(`${file}, byte ${offset}: `);
  expect((error as Error).message).toMatch(message);
  expect(await readFiles()).toEqual(before);
  expect(open.size).toBe(0);
}

describe("the end of the journal", () => {
  // The state file would prove that the last commit was durable, and the store would then reject a truncated journal.
  beforeEach(async () => {
    await createFiles(6);
    await rm(state);
  });

  test.each([
    ["its line end", (line: string) => line],
    ["its last byte", (line: string) => line.slice(0, -1)],
    ["its checksum", (line: string) => line.slice(0, -12)],
    ["all but its first byte", () => "{"],
  ])("a last line without %s is copied, reported, and cut", async (_, tear) => {
    const all = await lines();
    const tornLine = tear(all[6]!);
    await writeFile(journal, `${all.slice(0, 6).join("\n")}\n${tornLine}`);
    const log = readableLog();
    const store = await openTestStore(state, { log });
    expect(await readFile(`${state}.torn-1`, "utf8")).toBe(tornLine);
    expect(log.lines.map(({ level, fields }) => [level, fields])).toContainEqual([
      "warn",
      { file: journal, set_aside: `${state}.torn-1` },
    ]);
    expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(contents[5]!));
    await store.transact((tx) => addWrites(tx, workloadWrites(6)));
    await store.close();
    await expectContent(6);
    expect(await lines()).toEqual(all);
  });

  test("a last line that does not match its checksum is copied and cut", async () => {
    const all = await lines();
    await rewriteJournal([...all.slice(0, 6), all[6]!.replace("xxx", "xyx")]);
    await expectContent(5);
    expect(await readFile(`${state}.torn-1`, "utf8")).toContain("xyx");
  });

  test("several broken lines at the end are cut together", async () => {
    const all = await lines();
    await writeFile(
      journal,
      `${all.slice(0, 5).join("\n")}\n${all[5]!.slice(0, 50)}\n\0\0\0\n${all[6]!.slice(20, 60)}`,
    );
    await expectContent(4);
  });

  test("the copy of a torn end does not replace an earlier copy", async () => {
    for (const number of [1, 2]) {
      await writeFile(journal, `{"torn":${number}`, { flag: "a" });
      await expectContent(6);
    }
    expect(await readFile(`${state}.torn-1`, "utf8")).toBe('{"torn":1');
    expect(await readFile(`${state}.torn-2`, "utf8")).toBe('{"torn":2');
  });

  test("a line that the state file shows is never cut as torn", async () => {
    await expectContent(6);
    const all = await lines();
    await rewriteJournal([...all.slice(0, 6), all[6]!.slice(0, -3)]);
    await expectDamage(state, 0, /shows commit 6, but .* ends with 5/);
  });
});

describe("the middle of the journal", () => {
  beforeEach(() => createFiles(6));

  test.each([
    ["a changed value", (line: string) => line.replace('"step":', '"stop":')],
    ["a cut line", (line: string) => line.slice(0, 40)],
    ["an empty line", () => ""],
    ["a line of another format", () => '{"hello":"world"}'],
  ])("%s is rejected", async (_, damage) => {
    const all = await lines();
    await rewriteJournal(all.map((line, at) => (at === 3 ? damage(line) : line)));
    await expectDamage(journal, lineOffset(all, 3), /does not match its checksum/);
  });

  test("a damaged line before a torn one is rejected if a valid line is between them", async () => {
    const all = await lines();
    await writeFile(journal, `${[...all.slice(0, 3), all[3]!.slice(1), ...all.slice(4)].join("\n")}\n{"n":`);
    await expectDamage(journal, lineOffset(all, 3), /does not match its checksum/);
  });

  test("a missing line is rejected", async () => {
    const all = await lines();
    await rewriteJournal(all.filter((_, at) => at !== 3));
    await expectDamage(journal, lineOffset(all, 3), /commit 4 stands where commit 3 should/);
  });

  test("a repeated line is rejected", async () => {
    const all = await lines();
    await rewriteJournal([...all.slice(0, 4), all[3]!, ...all.slice(4)]);
    await expectDamage(journal, lineOffset(all, 4), /commit 3 stands where commit 4 should/);
  });

  test("a line with a valid checksum that is not a commit is rejected", async () => {
    const all = await lines();
    await rewriteJournal([...all.slice(0, 4), makeLine({ hello: "world" }).trimEnd(), ...all.slice(4)]);
    await expectDamage(journal, lineOffset(all, 4), /something else stands where commit 4 should/);
  });

  test("an audit entry that does not follow the one before is rejected", async () => {
    const all = await lines();
    const body = all[6]!.replace('"audit":[6', '"audit":[9').replace(/,"crc".*/, "");
    await rewriteJournal([...all.slice(0, 6), `${body}${makeTrailer(Buffer.from(body))}`]);
    await expectDamage(journal, lineOffset(all, 6), /0000000000000009 does not follow 0000000000000005/);
  });

  test("an edited first line is rejected", async () => {
    const all = await lines();
    await rewriteJournal([all[0]!.replace("store-1", "store-2"), ...all.slice(1)]);
    await expectDamage(journal, 0, /not the first line of a journal/);
  });

  test("an empty journal is rejected", async () => {
    await writeFile(journal, "");
    await expectDamage(journal, 0, /not the first line of a journal/);
  });

  test("a journal of another format is rejected", async () => {
    const all = await lines();
    const { crc: _, ...header } = JSON.parse(all[0]!) as Record<string, unknown>;
    for (const format of ["countersign-journal/0", "countersign-journal/2"]) {
      await rewriteJournal([makeLine({ ...header, format }).trimEnd(), ...all.slice(1)]);
      await expectDamage(journal, 0, /not of the format countersign-journal\/1.*Use the version that wrote it/s);
    }
  });
});

describe("the state file", () => {
  beforeEach(() => createFiles(6));

  test("that is missing loses no data", async () => {
    await rm(state);
    await expectContent(6);
    expect(JSON.parse(await readFile(state, "utf8"))).toMatchObject({ sequence: 6 });
  });

  test("that is blank loses no data", async () => {
    await writeFile(state, "\n");
    await expectContent(6);
  });

  test("ahead of its journal is rejected", async () => {
    const all = await lines();
    await rewriteJournal(all.slice(0, 6));
    await expectDamage(state, 0, /shows commit 6, but .* ends with 5.*restore the journal/i);
  });

  test("without a journal is rejected", async () => {
    await rm(journal);
    await expectDamage(state, 0, /its journal, .*, is missing/);
  });

  test("of another store is rejected", async () => {
    const otherStore = join(folder, "theirs", "state.json");
    await openTestStore(otherStore, { newId: () => "another" }).then((store) => store.close());
    await rename(otherStore, state);
    await rm(join(folder, "theirs"), { recursive: true });
    await expectDamage(state, 0, /belongs to another store/);
  });

  test.each([
    ["cut short", (text: string) => text.slice(0, 40), /not JSON/],
    ["another object", () => '{"tasks":[]}', /not a state file/],
    ["null", () => "null", /not a state file/],
    [
      "of another format",
      (text: string) => text.replace("countersign-state/1", "countersign-state/2"),
      /not a state file of the format countersign-state\/1/,
    ],
  ])("%s is rejected, and the message says that it can be removed", async (_, damage, message) => {
    await writeFile(state, damage(await readFile(state, "utf8")));
    await expectDamage(state, 0, message);
    await expectDamage(state, 0, /remove this file/);
  });

  test("of another program is rejected without a journal, and the message does not say remove", async () => {
    const intent = join(folder, "intent", "state.json");
    await mkdir(join(folder, "intent"));
    await writeFile(intent, '{"product":"a"}');
    const opened = await openTestStore(intent).catch((error: Error) => error.message);
    expect(opened).toMatch(/not a state file .* name another file with --state/);
    expect(opened).not.toContain("remove");
    expect(await readFile(intent, "utf8")).toBe('{"product":"a"}');
  });

  test.each([
    ["a value in it", (text: string) => text.replace('"length": 6', '"length": 7')],
    ["its sequence", (text: string) => text.replace('"sequence": 6', '"sequence": 5')],
    ["an added record", (text: string) => text.replace('"leases": {}', '"leases": {"chg_1":{"owner":"x"}}')],
    ["no checksum", (text: string) => text.replace(/,\s*"checksum": "[0-9a-f]{8}"/, "")],
  ])("that was edited (%s) is rejected", async (_, edit) => {
    const text = await readFile(state, "utf8");
    expect(edit(text)).not.toBe(text);
    await writeFile(state, edit(text));
    await expectDamage(state, 0, /it was changed after it was written/);
    await expectDamage(state, 0, /remove this file/);
  });

  test("that was reformatted is accepted", async () => {
    await writeFile(state, JSON.stringify(JSON.parse(await readFile(state, "utf8"))));
    await expectContent(6);
  });
});

describe("sealed journal files", () => {
  const SMALL_SEGMENTS = { segmentBytes: 2500 };

  test("without the catalog file, the content is read from all files", async () => {
    await createFiles(30, SMALL_SEGMENTS);
    await rm(catalogPath());
    await rm(state);
    await expectContent(30, SMALL_SEGMENTS);
  });

  test.each([
    ["cut short", (content: Buffer) => content.subarray(0, content.length - 10)],
    ["short of a line", (content: Buffer) => content.subarray(0, content.lastIndexOf("\n", content.length - 2) + 1)],
    ["longer", (content: Buffer) => Buffer.concat([content, content.subarray(content.indexOf("\n") + 1)])],
    ["changed", (content: Buffer) => Buffer.from(content.toString().replace("chg_", "chX_"))],
    ["empty", () => Buffer.alloc(0)],
    ["not JSON", () => Buffer.from("nonsense\n")],
  ])("a catalog file that is %s is ignored", async (_, damage) => {
    await createFiles(30, SMALL_SEGMENTS);
    await writeFile(catalogPath(), damage(await readFile(catalogPath())));
    await expectContent(30, SMALL_SEGMENTS);
  });

  test("the catalog file of another store is ignored", async () => {
    await createFiles(40, { ...SMALL_SEGMENTS, newId: () => "another" });
    const otherStore = await readFile(catalogPath());
    await rm(folder, { recursive: true });
    await createFiles(30, SMALL_SEGMENTS);
    await writeFile(catalogPath(), otherStore);
    await expectContent(30, SMALL_SEGMENTS);
  });

  test("a catalog file from before a compaction or later commits is brought up to date", async () => {
    const store = await openTestStore(state, SMALL_SEGMENTS);
    const all = Array.from({ length: 60 }, (_, n) => `r${n}`);
    for (const id of all) await store.transact((tx) => tx.put("things", id, "x".repeat(100)));
    await store.close();
    const old = await readFile(catalogPath());
    const again = await openTestStore(state, SMALL_SEGMENTS);
    for (const id of all.filter((_, n) => n % 2)) await again.transact((tx) => tx.put("things", id, "new"));
    for (const id of all.filter((_, n) => n % 5 === 0)) await again.transact((tx) => tx.delete("things", id));
    await again.compact();
    const expected = await again.list("things", { limit: 100 });
    await again.close();
    expect(await readFile(catalogPath())).not.toEqual(old);
    await writeFile(catalogPath(), old);
    const third = await openTestStore(state, SMALL_SEGMENTS);
    expect(await third.list("things", { limit: 100 })).toEqual(expected);
    await third.close();
  });

  test("damage in a file that has to be read is rejected", async () => {
    await createFiles(30, SMALL_SEGMENTS);
    await rm(catalogPath());
    const text = await readFile(segmentPath(2), "latin1");
    await writeFile(segmentPath(2), text.slice(0, -30), "latin1");
    await expectDamage(segmentPath(2), text.lastIndexOf("\n", text.length - 2) + 1, /does not match its checksum/);
  });

  test("a file that is shorter than the catalog file says is read and rejected", async () => {
    await createFiles(30, SMALL_SEGMENTS);
    const text = await readFile(segmentPath(2), "latin1");
    await writeFile(segmentPath(2), text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1), "latin1");
    await expectDamage(segmentPath(2), 0, /records that were in it are missing/);
  });

  test("a missing file is rejected", async () => {
    await createFiles(30, SMALL_SEGMENTS);
    await rm(segmentPath(2));
    await expectDamage(segmentPath(3), 0, /it is segment 3 of the journal, and segment 2 is missing/);
  });

  test("a missing last file is rejected", async () => {
    await createFiles(30, SMALL_SEGMENTS);
    const last = (await readdir(folder)).filter((name) => /\.\d+\.jsonl$/.test(name)).length;
    await rm(segmentPath(last));
    await expectDamage(journal, 0, new RegExp(`segment ${last} is missing`));
  });

  test("a file of another store is rejected", async () => {
    await createFiles(30, SMALL_SEGMENTS);
    const otherStore = await readFile(segmentPath(2));
    await rm(folder, { recursive: true });
    await openTestStore(state, { newId: () => "another" }).then((store) => store.close());
    await rm(folder, { recursive: true });
    await createFiles(30, { ...SMALL_SEGMENTS, newId: () => "another" });
    await writeFile(segmentPath(2), otherStore);
    await expectDamage(segmentPath(2), 0, /another store/);
  });

  test("sealing is completed after a crash between its two renames", async () => {
    await createFiles(6);
    await rename(journal, segmentPath(1));
    await writeFile(`${journal}.tmp`, "half");
    await expectContent(6);
    expect(await readdir(folder)).not.toContain("state.json.journal.jsonl.tmp");
    await expectContent(6);
  });
});

describe("files of other programs", () => {
  test("are not touched; its own temporary files are removed", async () => {
    await createFiles(6);
    const foreign = ["state.json.bak", "state.json.tmp.old", "other.json.tmp", "state.json.journal.1.jsonl"];
    const leftovers = ["state.json.tmp", "state.json.journal.000001.jsonl.tmp", "state.json.journal.catalog.tmp"];
    for (const name of [...foreign, ...leftovers]) await writeFile(join(folder, name), "?");
    await expectContent(6);
    expect((await readdir(folder)).sort()).toEqual(["state.json", "state.json.journal.jsonl", ...foreign].sort());
  });
});

test("a start without the newest journal file names the file, and reads the others", async () => {
  await createFiles(60, { segmentBytes: 4000 });
  await rm(journal);
  const before = await readFile(state);
  const store = await openTestStore(state);
  const { reason, left: remaining } = store.faults!().lost!;
  expect(reason).toMatch(/^state\.json\.journal\.jsonl, .* after commit \d+, is missing$/);
  const audit = await store.list("audit", { limit: 99 });
  expect(audit.length).toBeGreaterThan(20);
  expect(remaining).toMatchObject({ audit: audit.length });
  // A process that is killed before its first write leaves the old state file, and the loss is reported again.
  await store.close();
  await writeFile(state, before);
  const again = await openTestStore(state);
  expect(again.faults!().lost).toEqual({ reason, left: remaining });
});
