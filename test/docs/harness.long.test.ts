/**
 * The harness that runs the documents detects wrong documents. Ids, hashes and times of a document are examples: each example
 * stands for one value of the run. `…` stands for text, members or elements that the document does not show.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { listCommands } from "./commands.ts";
import { parseDocument } from "./markdown.ts";
import { findDifference } from "./compare_output.ts";
import { Shell } from "./shell.ts";
import { RunValues } from "./run_values.ts";
import { openRun } from "./document_run.ts";

const ID = "chg_01a1fbf3-9055-77b8-9ee4-6177e36d1256";
const ID_OF_RUN = "chg_77777777-1111-7222-8333-444444444444";
/** The id of another change of the run. */
const OTHER_ID_OF_RUN = ID_OF_RUN.replace("7", "8");
const HASH_OF_RUN = "a1".repeat(32);
const isDifferent = (documentText: string, actual: unknown, runValues = new RunValues()): boolean =>
  findDifference(documentText, typeof actual === "string" ? actual : JSON.stringify(actual), runValues) !== undefined;

describe("the document's text matches the actual output", () => {
  test.each<[string, unknown]>([
    ['{"a":1,"b":[true,null]}', { b: [true, null], a: 1 }],
    ['{"a":1, …}', { a: 1, b: 2 }],
    ['{"a":1, …\n "c":3}', { a: 1, b: 2, c: 3 }],
    ['{"a":…,"b":{…},"c":[…]}', { a: [1], b: { x: 1 }, c: [1, 2] }],
    ['{"a":[1, …, 9]}', { a: [1, 5, 9] }],
    ['{"…":"…"}', { a: 1 }],
    ['{"a":"…"}', { a: "anything" }],
    ['{"a":"cannot apply …"}', { a: "cannot apply it" }],
    [`{"change_id":"${ID}","error":"no ${ID}"}`, { change_id: ID_OF_RUN, error: `no ${ID_OF_RUN}` }],
    ['{"change_id":"chg_01a1…"}', { change_id: ID_OF_RUN }],
    ['{"head":"2cf4e899…","same":"2cf4e899…a906"}', { head: HASH_OF_RUN, same: HASH_OF_RUN }],
    ['{"at":"2026-01-02T03:04:05.678Z"}', { at: "2031-12-30T23:59:59.001Z" }],
    ['{"previous_hash":"0000…"}', { previous_hash: "0".repeat(64) }],
    ["watching …\nready", "watching data\nready\n"],
  ])("%s", (documentText, actual) => expect(isDifferent(documentText, actual)).toBe(false));
});

describe("the document's text does not match the actual output", () => {
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
    [`{"a":"${ID}","b":"${ID}"}`, { a: ID_OF_RUN, b: OTHER_ID_OF_RUN }],
    ['{"a":"2cf4e899…","b":"3cea5977…"}', { a: HASH_OF_RUN, b: HASH_OF_RUN }],
    ['{"at":"2026-01-02T03:04:05.678Z"}', { at: "2026-01-02T03:04:05Z" }],
    ['{"previous_hash":"0000…"}', { previous_hash: HASH_OF_RUN }],
    ['{"a":1}', "not JSON"],
    ["ready", "not ready"],
  ])("%s", (documentText, actual) => expect(isDifferent(documentText, actual)).toBe(true));
});

test("values of this run replace those of the document in commands, also shortened values", () => {
  const runValues = new RunValues();
  expect(
    isDifferent(`{"change_id":"${ID}","hash":"2cf4e899…"}`, { change_id: ID_OF_RUN, hash: HASH_OF_RUN }, runValues),
  ).toBe(false);
  expect(runValues.translate(`-d change_id=${ID} 'head=2cf4e899…'`)).toBe(
    `-d change_id=${ID_OF_RUN} 'head=${HASH_OF_RUN}'`,
  );
  expect(runValues.translate("-d change_id=chg_01a1fbf3-…")).toBe(`-d change_id=${ID_OF_RUN}`);
  expect(() => runValues.translate("-d change_id=chg_…")).toThrow("no output before shows the value of …");
  expect(() => runValues.translate("head=3cea5977…")).toThrow("no output before shows the value of 3cea5977…");
  expect(isDifferent(`{"change_id":"${ID}"}`, { change_id: OTHER_ID_OF_RUN }, runValues)).toBe(true);
});

test("a replacement that is not used is reported", () => {
  const runValues = new RunValues();
  runValues.addReplacement("https://crm.example", "http://127.0.0.1:1");
  runValues.addReplacement("db.internal", "127.0.0.1");
  runValues.addPort("8420", "41234");
  expect(runValues.translate("curl https://crm.example/8420 :8420")).toBe("curl http://127.0.0.1:1/8420 :41234");
  expect(runValues.listUnused()).toEqual(["db.internal"]);
});

const FENCE = "```";
const parseLines = (...lines: string[]) => parseDocument("x.md", lines.join("\n"));

test("the blocks, marks, headings, links and code spans of a document are parsed", () => {
  const document = parseLines(
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
  expect(() => parseLines(FENCE)).toThrow("x.md:1: this fence is not closed");
});

const commands = (language: string, ...lines: string[]) =>
  listCommands(parseLines(`${FENCE}${language}`, ...lines, FENCE).blocks[0]!);

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

test("a run of a document reports each block that fails and accepts the others", async () => {
  const failure = (message: string): string => expect.stringContaining(message);
  // The text `undefined` stands for a block that did not fail.
  const cases: [lines: string[], outcome: string][] = [
    [[`${FENCE}console`, "$ echo 1", "2"], failure("x.md:2: echo 1")],
    [[`${FENCE}sh`, "true", "false"], failure("x.md:7: false\nit ended with exit code 1, not 0")],
    [["<!-- runs on -->", `${FENCE}sh`, "true"], failure('"runs on" is not a mark')],
    [[`${FENCE}toml`, "a = 1"], failure('no check for a block of "toml"')],
    [[`${FENCE}json intent`, "{"], failure("this is no JSON")],
    [[`${FENCE}js`, "throw new Error('broken');"], failure("broken")],
    [[`${FENCE}sh`, "npm run all"], failure("npm run all is not run")],
    [[`${FENCE}js`, "// a.js", "console.log(1);"], "undefined"],
    [[`${FENCE}console`, "$ node a.js", "1"], "undefined"],
    [["<!-- keeps running -->", `${FENCE}sh`, "sleep 1000"], failure("no port and no output shows that it runs")],
    [["<!-- keeps running -->", `${FENCE}console`, "$ node gone.js", "on"], failure("Cannot find module")],
    [["<!-- keeps running -->", `${FENCE}console`, "$ echo on; exec sleep 1000", "on"], "undefined"],
  ];
  const document = parseLines(...cases.flatMap(([lines]) => [...lines, FENCE]));
  const documentRun = await openRun(document, { exampleChecks: { "json intent": () => undefined } });
  onTestFinished(() => documentRun.close());
  const outcomes: string[] = [];
  for (const block of document.blocks)
    outcomes.push(await documentRun.runBlock(block).then(String, ({ message }: Error) => message));
  expect(outcomes).toEqual(cases.map(([, outcome]) => outcome));
});
