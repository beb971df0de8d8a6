/** A start with files that are torn, damaged, missing or of another store. */
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { type Files, nodeFiles } from "../../../local/store/files.ts";
import { makeLine, StoreDamaged, makeTrailer } from "../../../local/store/journal_format.ts";
import { COLLECTIONS, readContent, history, live, perform, workload } from "./model.ts";
import { opened, readableLog, temporaryFolder } from "./opened.ts";

let folder: string;
let state: string;
let journal: string;
const contents = history(60);

beforeEach(async () => {
  folder = await temporaryFolder();
  state = join(folder, "state.json");
  journal = `${state}.journal.jsonl`;
});

/** Creates the files of a closed store with a number of commits and an up-to-date catalog file. */
async function written(count: number, options = {}): Promise<void> {
  const store = await opened(state, options);
  for (let n = 1; n <= count; n++) await store.transact((tx) => perform(tx, workload(n)));
  await store.close();
}

const lines = async (): Promise<string[]> => (await readFile(journal, "utf8")).trimEnd().split("\n");
const rewrite = (changed: string[]): Promise<void> => writeFile(journal, changed.map((line) => `${line}\n`).join(""));
const offsetOf = (all: string[], index: number): number => Buffer.byteLength(all.slice(0, index).join("\n")) + 1;
const segment = (number: number): string => `${state}.journal.00000${number}.jsonl`;
const catalog = (): string => `${state}.journal.catalog`;

/** Expects that the store opens with the content of the first `count` commits. */
async function holds(count: number, options = {}): Promise<void> {
  const store = await opened(state, options);
  expect(store.status().sequence).toBe(count);
  expect(await readContent(store, COLLECTIONS)).toEqual(live(contents[count]!));
  await store.close();
}

/** Expects that the start fails with file and offset, touches no file and leaves none open. */
async function refused(file: string, offset: number, message: RegExp): Promise<void> {
  const files = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      await Promise.all(
        (await readdir(folder)).map(async (name) => [name, await readFile(join(folder, name), "latin1")]),
      ),
    );
  const before = await files();
  const open = new Set<number>();
  const watched: Files = {
    ...nodeFiles,
    async open(path, mode) {
      const fd = await nodeFiles.open(path, mode);
      open.add(fd);
      return fd;
    },
    close: (fd) => (open.delete(fd), nodeFiles.close(fd)),
  };
  const error = await opened(state, { files: watched }).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(StoreDamaged);
  expect(error).toMatchObject({ file, offset });
  expect((error as Error).message).toContain(`${file}, byte ${offset}: `);
  expect((error as Error).message).toMatch(message);
  expect(await files()).toEqual(before);
  expect(open.size).toBe(0);
}

describe("the end of the journal", () => {
  // Removes the state file, since it proves that the last commit was durable, so that truncation would be rejected.
  beforeEach(async () => {
    await written(6);
    await rm(state);
  });

  test.each([
    ["its line end", (line: string) => line],
    ["its last byte", (line: string) => line.slice(0, -1)],
    ["its checksum", (line: string) => line.slice(0, -12)],
    ["all but its first byte", () => "{"],
  ])("a last line without %s is set aside, reported, and cut", async (_, torn) => {
    const all = await lines();
    const rest = torn(all[6]!);
    await writeFile(journal, `${all.slice(0, 6).join("\n")}\n${rest}`);
    const log = readableLog();
    const store = await opened(state, { log });
    expect(await readFile(`${state}.torn-1`, "utf8")).toBe(rest);
    expect(log.lines.map(({ level, fields }) => [level, fields])).toContainEqual([
      "warn",
      { file: journal, set_aside: `${state}.torn-1` },
    ]);
    expect(await readContent(store, COLLECTIONS)).toEqual(live(contents[5]!));
    await store.transact((tx) => perform(tx, workload(6)));
    await store.close();
    await holds(6);
    expect(await lines()).toEqual(all);
  });

  test("a last line that does not match its checksum is set aside", async () => {
    const all = await lines();
    await rewrite([...all.slice(0, 6), all[6]!.replace("xxx", "xyx")]);
    await holds(5);
    expect(await readFile(`${state}.torn-1`, "utf8")).toContain("xyx");
  });

  test("several broken lines at the end are one torn write", async () => {
    const all = await lines();
    await writeFile(
      journal,
      `${all.slice(0, 5).join("\n")}\n${all[5]!.slice(0, 50)}\n\0\0\0\n${all[6]!.slice(20, 60)}`,
    );
    await holds(4);
  });

  test("a second torn end does not replace the first", async () => {
    for (const number of [1, 2]) {
      await writeFile(journal, `{"torn":${number}`, { flag: "a" });
      await holds(6);
    }
    expect(await readFile(`${state}.torn-1`, "utf8")).toBe('{"torn":1');
    expect(await readFile(`${state}.torn-2`, "utf8")).toBe('{"torn":2');
  });

  test("a line that the state file shows is never cut as torn", async () => {
    await holds(6);
    const all = await lines();
    await rewrite([...all.slice(0, 6), all[6]!.slice(0, -3)]);
    await refused(state, 0, /shows commit 6, but .* ends with 5/);
  });
});

describe("the middle of the journal", () => {
  beforeEach(() => written(6));

  test.each([
    ["a changed value", (line: string) => line.replace('"step":', '"stop":')],
    ["a cut line", (line: string) => line.slice(0, 40)],
    ["an empty line", () => ""],
    ["a line of something else", () => '{"hello":"world"}'],
  ])("%s is refused", async (_, damage) => {
    const all = await lines();
    await rewrite(all.map((line, at) => (at === 3 ? damage(line) : line)));
    await refused(journal, offsetOf(all, 3), /does not match its checksum/);
  });

  test("a damaged line before a torn one is rejected if a valid line is between them", async () => {
    const all = await lines();
    await writeFile(journal, `${[...all.slice(0, 3), all[3]!.slice(1), ...all.slice(4)].join("\n")}\n{"n":`);
    await refused(journal, offsetOf(all, 3), /does not match its checksum/);
  });

  test("a missing line is rejected", async () => {
    const all = await lines();
    await rewrite(all.filter((_, at) => at !== 3));
    await refused(journal, offsetOf(all, 3), /commit 4 stands where commit 3 should/);
  });

  test("a repeated line is rejected", async () => {
    const all = await lines();
    await rewrite([...all.slice(0, 4), all[3]!, ...all.slice(4)]);
    await refused(journal, offsetOf(all, 4), /commit 3 stands where commit 4 should/);
  });

  test("a line with a valid checksum that is not a commit is rejected", async () => {
    const all = await lines();
    await rewrite([...all.slice(0, 4), makeLine({ hello: "world" }).trimEnd(), ...all.slice(4)]);
    await refused(journal, offsetOf(all, 4), /something else stands where commit 4 should/);
  });

  test("an audit entry that does not follow the one before is rejected", async () => {
    const all = await lines();
    const body = all[6]!.replace('"audit":[6', '"audit":[9').replace(/,"crc".*/, "");
    await rewrite([...all.slice(0, 6), `${body}${makeTrailer(Buffer.from(body))}`]);
    await refused(journal, offsetOf(all, 6), /0000000000000009 does not follow 0000000000000005/);
  });

  test("an edited first line is rejected", async () => {
    const all = await lines();
    await rewrite([all[0]!.replace("store-1", "store-2"), ...all.slice(1)]);
    await refused(journal, 0, /not the first line of a journal/);
  });

  test("an empty journal is rejected", async () => {
    await writeFile(journal, "");
    await refused(journal, 0, /not the first line of a journal/);
  });

  test("a journal of another format is rejected", async () => {
    const all = await lines();
    const { crc: _, ...header } = JSON.parse(all[0]!) as Record<string, unknown>;
    for (const format of ["countersign-journal/0", "countersign-journal/2"]) {
      await rewrite([makeLine({ ...header, format }).trimEnd(), ...all.slice(1)]);
      await refused(journal, 0, /not of the format countersign-journal\/1.*Use the version that wrote it/s);
    }
  });
});

describe("the state file", () => {
  beforeEach(() => written(6));

  test("that is missing loses no data", async () => {
    await rm(state);
    await holds(6);
    expect(JSON.parse(await readFile(state, "utf8"))).toMatchObject({ sequence: 6 });
  });

  test("that is blank loses no data", async () => {
    await writeFile(state, "\n");
    await holds(6);
  });

  test("ahead of its journal is rejected", async () => {
    const all = await lines();
    await rewrite(all.slice(0, 6));
    await refused(state, 0, /shows commit 6, but .* ends with 5.*restore the journal/i);
  });

  test("without a journal is rejected", async () => {
    await rm(journal);
    await refused(state, 0, /its journal, .*, is missing/);
  });

  test("of another store is rejected", async () => {
    const theirs = join(folder, "theirs", "state.json");
    await opened(theirs, { newId: () => "another" }).then((store) => store.close());
    await rename(theirs, state);
    await rm(join(folder, "theirs"), { recursive: true });
    await refused(state, 0, /belongs to another store/);
  });

  test.each([
    ["cut short", (text: string) => text.slice(0, 40), /not JSON/],
    ["something else", () => '{"tasks":[]}', /not a state file/],
    ["null", () => "null", /not a state file/],
    [
      "of another format",
      (text: string) => text.replace("countersign-state/1", "countersign-state/2"),
      /not a state file of the format countersign-state\/1/,
    ],
  ])("%s is refused, and the message says that it can be removed", async (_, damage, message) => {
    await writeFile(state, damage(await readFile(state, "utf8")));
    await refused(state, 0, message);
    await refused(state, 0, /remove this file/);
  });

  test.each([
    ["a value in it", (text: string) => text.replace('"length": 6', '"length": 7')],
    ["its sequence", (text: string) => text.replace('"sequence": 6', '"sequence": 5')],
    ["a record more", (text: string) => text.replace('"leases": {}', '"leases": {"chg_1":{"owner":"x"}}')],
    ["no checksum", (text: string) => text.replace(/,\s*"checksum": "[0-9a-f]{8}"/, "")],
  ])("that was edited (%s) is refused", async (_, edit) => {
    const text = await readFile(state, "utf8");
    expect(edit(text)).not.toBe(text);
    await writeFile(state, edit(text));
    await refused(state, 0, /it was changed after it was written/);
    await refused(state, 0, /remove this file/);
  });

  test("that was reformatted is accepted", async () => {
    await writeFile(state, JSON.stringify(JSON.parse(await readFile(state, "utf8"))));
    await holds(6);
  });
});

describe("sealed journal files", () => {
  const small = { segmentBytes: 2500 };

  test("without the catalog file the store is read completely, and is the same", async () => {
    await written(30, small);
    await rm(catalog());
    await rm(state);
    await holds(30, small);
  });

  test.each([
    ["cut short", (content: Buffer) => content.subarray(0, content.length - 10)],
    ["short of a line", (content: Buffer) => content.subarray(0, content.lastIndexOf("\n", content.length - 2) + 1)],
    ["longer", (content: Buffer) => Buffer.concat([content, content.subarray(content.indexOf("\n") + 1)])],
    ["changed", (content: Buffer) => Buffer.from(content.toString().replace("chg_", "chX_"))],
    ["empty", () => Buffer.alloc(0)],
    ["nonsense", () => Buffer.from("nonsense\n")],
  ])("a catalog file that is %s is not believed", async (_, damage) => {
    await written(30, small);
    await writeFile(catalog(), damage(await readFile(catalog())));
    await holds(30, small);
  });

  test("the catalog file of another store is ignored", async () => {
    await written(40, { ...small, newId: () => "another" });
    const theirs = await readFile(catalog());
    await rm(folder, { recursive: true });
    await written(30, small);
    await writeFile(catalog(), theirs);
    await holds(30, small);
  });

  test("a catalog file from before a compaction or later commits is brought up to date", async () => {
    const store = await opened(state, small);
    const all = Array.from({ length: 60 }, (_, n) => `r${n}`);
    for (const id of all) await store.transact((tx) => tx.put("things", id, "x".repeat(100)));
    await store.close();
    const old = await readFile(catalog());
    const again = await opened(state, small);
    for (const id of all.filter((_, n) => n % 2)) await again.transact((tx) => tx.put("things", id, "new"));
    for (const id of all.filter((_, n) => n % 5 === 0)) await again.transact((tx) => tx.delete("things", id));
    await again.compact();
    const expected = await again.list("things", { limit: 100 });
    await again.close();
    expect(await readFile(catalog())).not.toEqual(old);
    await writeFile(catalog(), old);
    const third = await opened(state, small);
    expect(await third.list("things", { limit: 100 })).toEqual(expected);
    await third.close();
  });

  test("damage in a file that has to be read is rejected", async () => {
    await written(30, small);
    await rm(catalog());
    const text = await readFile(segment(2), "latin1");
    await writeFile(segment(2), text.slice(0, -30), "latin1");
    await refused(segment(2), text.lastIndexOf("\n", text.length - 2) + 1, /does not match its checksum/);
  });

  test("a file that is shorter than the catalog file says is read and rejected", async () => {
    await written(30, small);
    const text = await readFile(segment(2), "latin1");
    await writeFile(segment(2), text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1), "latin1");
    await refused(segment(2), 0, /records that were in it are missing/);
  });

  test("a missing file is rejected", async () => {
    await written(30, small);
    await rm(segment(2));
    await refused(segment(3), 0, /it is segment 3 of the journal, and segment 2 is missing/);
  });

  test("a missing last file is rejected", async () => {
    await written(30, small);
    const last = (await readdir(folder)).filter((name) => /\.\d+\.jsonl$/.test(name)).length;
    await rm(segment(last));
    await refused(journal, 0, new RegExp(`segment ${last} is missing`));
  });

  test("a file of another store is rejected", async () => {
    await written(30, small);
    const theirs = await readFile(segment(2));
    await rm(folder, { recursive: true });
    await opened(state, { newId: () => "another" }).then((store) => store.close());
    await rm(folder, { recursive: true });
    await written(30, { ...small, newId: () => "another" });
    await writeFile(segment(2), theirs);
    await refused(segment(2), 0, /another store/);
  });

  test("sealing is completed after a crash between its two renames", async () => {
    await written(6);
    await rename(journal, segment(1));
    await writeFile(`${journal}.tmp`, "half");
    await holds(6);
    expect(await readdir(folder)).not.toContain("state.json.journal.jsonl.tmp");
    await holds(6);
  });
});

describe("files that are not its own", () => {
  test("are not touched; its own temporary files are removed", async () => {
    await written(6);
    const foreign = ["state.json.bak", "state.json.tmp.old", "other.json.tmp", "state.json.journal.1.jsonl"];
    const leftovers = ["state.json.tmp", "state.json.journal.000001.jsonl.tmp", "state.json.journal.catalog.tmp"];
    for (const name of [...foreign, ...leftovers]) await writeFile(join(folder, name), "?");
    await holds(6);
    expect((await readdir(folder)).sort()).toEqual(["state.json", "state.json.journal.jsonl", ...foreign].sort());
  });
});

test("a start without the file that holds the newest records names it, and reads the rest", async () => {
  await written(60, { segmentBytes: 4000 });
  await rm(journal);
  const before = await readFile(state);
  const store = await opened(state);
  const { reason, left } = store.faults!().lost!;
  expect(reason).toMatch(/^state\.json\.journal\.jsonl, .* after commit \d+, is missing$/);
  const audit = await store.list("audit", { limit: 99 });
  expect(audit.length).toBeGreaterThan(20);
  expect(left).toMatchObject({ audit: audit.length });
  // A process that is killed before it writes anything does not hide it.
  await store.close();
  await writeFile(state, before);
  const again = await opened(state);
  expect(again.faults!().lost).toEqual({ reason, left });
});
