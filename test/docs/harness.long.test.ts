/** The harness that runs the documents detects wrong documents. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { listCommands } from "./commands.ts";
import { parse } from "./markdown.ts";
import { difference } from "./shape.ts";
import { Shell } from "./shell.ts";
import { StandIns } from "./stand_ins.ts";
import { openStory } from "./story.ts";

const ID = "chg_01a1fbf3-9055-77b8-9ee4-6177e36d1256";
const HERE = "chg_77777777-1111-7222-8333-444444444444";
const HASH = "a1".repeat(32);
const differs = (shown: string, actual: unknown, standIns = new StandIns()): boolean =>
  difference(shown, typeof actual === "string" ? actual : JSON.stringify(actual), standIns) !== undefined;

describe("the shown text matches the actual output", () => {
  test.each<[string, unknown]>([
    ['{"a":1,"b":[true,null]}', { b: [true, null], a: 1 }],
    ['{"a":1, …}', { a: 1, b: 2 }],
    ['{"a":1, …\n "c":3}', { a: 1, b: 2, c: 3 }],
    ['{"a":…,"b":{…},"c":[…]}', { a: [1], b: { x: 1 }, c: [1, 2] }],
    ['{"a":[1, …, 9]}', { a: [1, 5, 9] }],
    ['{"…":"…"}', { a: 1 }],
    ['{"a":"…"}', { a: "anything" }],
    ['{"a":"cannot apply …"}', { a: "cannot apply it" }],
    [`{"change_id":"${ID}","error":"no ${ID}"}`, { change_id: HERE, error: `no ${HERE}` }],
    ['{"change_id":"chg_01a1…"}', { change_id: HERE }],
    ['{"head":"2cf4e899…","same":"2cf4e899…a906"}', { head: HASH, same: HASH }],
    ['{"at":"2026-01-02T03:04:05.678Z"}', { at: "2031-12-30T23:59:59.001Z" }],
    ['{"previous_hash":"0000…"}', { previous_hash: "0".repeat(64) }],
    ["watching …\nready", "watching data\nready\n"],
  ])("%s", (shown, actual) => expect(differs(shown, actual)).toBe(false));
});

describe("the shown text does not match the actual output", () => {
  test.each<[string, unknown]>([
    ['{"status":"applied", …}', { status: "approved" }],
    ['{"a":1}', { a: 2 }],
    ['{"a":1}', { a: "1" }],
    ['{"a":1}', { a: 1, b: 2 }],
    ['{"a":1,"b":2, …}', { a: 1 }],
    ['{"a":[1]}', { a: [1, 2] }],
    ['{"a":[1, …, 9]}', { a: [1] }],
    ['{"a":{}}', { a: [] }],
    ['{"a":"cannot apply …"}', { a: "can apply it" }],
    [`{"change_id":"${ID}"}`, { change_id: "task_1" }],
    [`{"a":"${ID}","b":"${ID}"}`, { a: HERE, b: HERE.replace("7", "8") }],
    ['{"a":"2cf4e899…","b":"3cea5977…"}', { a: HASH, b: HASH }],
    ['{"at":"2026-01-02T03:04:05.678Z"}', { at: "2026-01-02T03:04:05Z" }],
    ['{"previous_hash":"0000…"}', { previous_hash: HASH }],
    ['{"a":1}', "not JSON"],
    ["ready", "not ready"],
  ])("%s", (shown, actual) => expect(differs(shown, actual)).toBe(true));
});

test("values of this run replace the shown ones in commands, also shortened ones", () => {
  const standIns = new StandIns();
  expect(differs(`{"change_id":"${ID}","hash":"2cf4e899…"}`, { change_id: HERE, hash: HASH }, standIns)).toBe(false);
  expect(standIns.put(`-d change_id=${ID} 'head=2cf4e899…'`)).toBe(`-d change_id=${HERE} 'head=${HASH}'`);
  expect(standIns.put("-d change_id=chg_01a1fbf3-…")).toBe(`-d change_id=${HERE}`);
  expect(() => standIns.put("-d change_id=chg_…")).toThrow("nothing before tells what … stands for");
  expect(() => standIns.put("head=3cea5977…")).toThrow("nothing before tells what 3cea5977… stands for");
  expect(differs(`{"change_id":"${ID}"}`, { change_id: HERE.replace("7", "8") }, standIns)).toBe(true);
});

test("a given replacement that is not used is reported", () => {
  const standIns = new StandIns();
  standIns.give("https://crm.example", "http://127.0.0.1:1");
  standIns.give("db.internal", "127.0.0.1");
  standIns.givePort("8420", "41234");
  expect(standIns.put("curl https://crm.example/8420 :8420")).toBe("curl http://127.0.0.1:1/8420 :41234");
  expect(standIns.unused()).toEqual(["db.internal"]);
});

const FENCE = "```";
const read = (...lines: string[]) => parse("x.md", lines.join("\n"));

test("the blocks, marks, headings, links and code spans of a document are parsed", () => {
  const document = read(
    "# A `b` [c](d.md)",
    "# A b c",
    "see [it](#a-b-c) `x`",
    "<!-- keeps running",
    "on 1 -->",
    "",
    "- item",
    `  ${FENCE}json intent`,
    "  {",
    `  ${FENCE}`,
    "<!-- not run: why -->",
    "",
    `${FENCE}sh`,
    "a",
    FENCE,
  );
  expect(document.blocks).toEqual([
    { line: 9, info: "json intent", language: "json", text: "{", marks: [] },
    { line: 14, info: "sh", language: "sh", text: "a", marks: ["not run: why"] },
  ]);
  expect([...document.anchors]).toEqual(["a-b-c", "a-b-c-1"]);
  expect(document.links.map(({ text }) => text)).toEqual(["d.md", "#a-b-c"]);
  expect(document.spans).toEqual([
    { line: 1, text: "b" },
    { line: 3, text: "x" },
  ]);
  expect(() => read(FENCE)).toThrow("x.md:1: this fence is not closed");
});

const commands = (language: string, ...lines: string[]) =>
  listCommands(read(`${FENCE}${language}`, ...lines, FENCE).blocks[0]!);

test("a session is parsed into commands and output, a script into commands and exit codes", () => {
  expect(commands("console", "$ a \\", "  b", "1", "", "2", "", "$ c <<E", "d", "E")).toEqual([
    { line: 2, text: "a \\\n  b", status: 0, output: "1\n\n2" },
    { line: 8, text: "c <<E\nd\nE", status: 0, output: "" },
  ]);
  expect(commands("sh", "# bad: exit code 2", "a 'b", "c'", "", "for x in 1; do", "  d", "done")).toEqual([
    { line: 3, text: "a 'b\nc'", status: 2 },
    { line: 6, text: "for x in 1; do\n  d\ndone", status: 0 },
  ]);
  expect(() => commands("console", "a")).toThrow('a session begins with "$ "');
  expect(() => commands("sh", "a 'b")).toThrow("line 2: this command does not end");
});

test("a shell keeps variables, returns exit codes and output, and ends background programs", async () => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-shell-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const shell = new Shell(folder, folder, { PATH: process.env["PATH"]! });
  expect(await shell.run("x=1; cd /")).toEqual({ status: 0, output: "" });
  expect(await shell.run("echo $x $PWD; echo no >&2; (exit 3)")).toEqual({ status: 3, output: "1 /\nno\n" });
  expect(await shell.run("echo $?")).toEqual({ status: 0, output: "3\n" });
  expect((await shell.run("echo 'open")).status).not.toBe(0);
  const program = await shell.start("echo on; exec sleep 1000");
  expect(await program.until((line) => (line === "on" ? line : undefined))).toBe("on");
  const failing = await shell.start("echo gone");
  await expect(failing.until((line) => (line === "on" ? line : undefined))).rejects.toThrow("echo gone\nended:\ngone");
  await shell.close();
});

test("a story reports the line of each failure", async () => {
  const document = read(
    ...[`${FENCE}console`, "$ echo 1", "2", FENCE],
    ...[`${FENCE}sh`, "true", "false", FENCE],
    ...["<!-- runs on -->", `${FENCE}sh`, "true", FENCE],
    ...[`${FENCE}toml`, "a = 1", FENCE],
    ...[`${FENCE}json intent`, "{", FENCE],
    ...[`${FENCE}js`, "throw new Error('broken');", FENCE],
    ...[`${FENCE}sh`, "npm run all", FENCE],
    ...[`${FENCE}js`, "// a.js", "console.log(1);", FENCE],
    ...[`${FENCE}console`, "$ node a.js", "1", FENCE],
    ...["<!-- keeps running -->", `${FENCE}sh`, "sleep 1000", FENCE],
    ...["<!-- keeps running -->", `${FENCE}console`, "$ node gone.js", "on", FENCE],
    ...["<!-- keeps running -->", `${FENCE}console`, "$ echo on; exec sleep 1000", "on", FENCE],
  );
  const story = await openStory(document, { readers: { "json intent": () => undefined } });
  onTestFinished(() => story.close());
  const outcomes: string[] = [];
  for (const block of document.blocks)
    outcomes.push(await story.run(block).then(String, ({ message }: Error) => message));
  expect(outcomes).toEqual([
    expect.stringContaining("x.md:2: echo 1"),
    expect.stringContaining("x.md:7: false\nit ended with exit code 1, not 0"),
    expect.stringContaining('"runs on" is no mark'),
    expect.stringContaining('nothing reads a block of "toml"'),
    expect.stringContaining("this is no JSON"),
    expect.stringContaining("broken"),
    expect.stringContaining("npm run all is not run"),
    "undefined",
    "undefined",
    expect.stringContaining("no port and no output shows that it runs"),
    expect.stringContaining("Cannot find module"),
    "undefined",
  ]);
});
