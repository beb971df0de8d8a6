/** Tests exports with contents: the service writes them, and both offline verifiers report the same about them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { reportText } from "../../local/verify/report.ts";
import { type Report, verifyExport } from "../../local/verify/verify.ts";
import { hashEntry } from "../support/independent_chain.ts";
import { service, type TestService } from "../support/service.ts";
import { pythonMissing, runPythonOften } from "../tamper/verifiers.ts";

const folder = mkdtempSync(join(tmpdir(), "contents-"));
afterAll(() => rmSync(folder, { recursive: true }));

let api: TestService;
/** An export of five entries: the intent in force, three proposals, the denial of the first; contents follow the first four. */
let lines: string[];
/** Ids of the three changes. */
let ids: string[];
beforeAll(async () => {
  api = await service();
  ids = [];
  for (const summary of ["Grüezi 🙂", 'a "quoted" one', "last"])
    ids.push((await api.propose({ summary, value: JSON.stringify({ z: 1e21, a: ["\u2028"] }) })).change_id);
  await api.act("deny", ids[0]!);
  lines = splitLines((await api.get("export")).text);
});

const splitLines = (text: string): string[] => text.trimEnd().split("\n");
const joinLines = (changed: readonly string[]): string => changed.map((line) => `${line}\n`).join("");
/** Returns the index of the line with a change's content; findings number lines from 1. */
const contentLine = (id: string): number => lines.findIndex((line) => line.startsWith(`{"change_id":"${id}"`));

/** Files verified here, which the Python verifier checks at the end in one process. */
const verifiedFiles: { args: string[]; report: Report; path: string }[] = [];

async function verifyLines(changed: readonly string[], contents = true): Promise<Report> {
  const path = join(folder, `${verifiedFiles.length}.jsonl`);
  writeFileSync(path, joinLines(changed));
  const evidence = { states: [], findings: [], remarks: [] };
  const report = await verifyExport([Buffer.from(joinLines(changed))], evidence, { contents });
  verifiedFiles.push({ args: [path, ...(contents ? ["--changes"] : [])], report, path });
  return report;
}

test("each content follows the entry with its hash, and entries are as in other exports", async () => {
  const plain = splitLines((await api.get("audit?format=jsonl")).text);
  expect(lines.filter((line) => line.startsWith('{"origin":'))).toEqual(plain);
  // The contents of three changes and of the intent.
  expect(lines).toHaveLength(plain.length + 4);
  expect((await api.get("audit?format=jsonl&contents=1")).text).toBe(joinLines(lines));
  expect(await verifyLines(lines)).toMatchObject({
    verdict: "consistent",
    entries: 5,
    findings: [],
    contents: { changes: 3, intents: 1, unfit: 0, missing: 0, erased: 0, erased_changes: [] },
  });
});

test("a page of entries has no contents", async () => {
  expect(await api.get("audit?contents=1")).toMatchObject({ status: 400, body: { code: "invalid_field" } });
});

describe("a defect is reported:", () => {
  test("a content with one other letter", async () => {
    const line = contentLine(ids[1]!);
    const report = await verifyLines(lines.with(line, lines[line]!.replace("quoted", "Quoted")));
    expect(report).toMatchObject({
      verdict: "bad",
      findings: [
        { line: line + 1, entry: 3, rule: "content", message: "the content does not match the hash in its entry" },
      ],
      findings_total: 1,
      contents: { changes: 2, unfit: 1, missing: 0 },
    });
  });

  test("missing contents, in the middle, at the end, and of the intent", async () => {
    const without = (begin: string) => lines.filter((line) => !line.startsWith(begin));
    for (const id of ids)
      expect(await verifyLines(without(`{"change_id":"${id}"`))).toMatchObject({
        verdict: "bad",
        findings: [{ rule: "content", message: `the content of ${id} is missing` }],
        findings_total: 1,
      });
    expect(await verifyLines(without('{"manifest_hash"'))).toMatchObject({
      findings: [
        { line: 1, entry: 1, rule: "intent", message: expect.stringMatching(/^the manifest [0-9a-f]{64} is/) },
      ],
    });
    const upTo = contentLine(ids[2]!);
    expect((await verifyLines(lines.slice(0, upTo))).findings).toMatchObject([
      { line: upTo, entry: 4, rule: "content" },
    ]);
  });

  test("contents after another entry, twice, or before their entry", async () => {
    const [first, second] = [contentLine(ids[0]!), contentLine(ids[1]!)];
    const swapped = lines.with(first, lines[second]!).with(second, lines[first]!);
    // Each of the two is in a place where no content of its change is expected, and the expected one is missing.
    expect((await verifyLines(swapped)).findings.map(({ rule }) => rule)).toEqual([
      "form",
      "content",
      "form",
      "content",
    ]);
    expect((await verifyLines(lines.toSpliced(first, 0, lines[first]!))).findings).toMatchObject([
      { line: first + 2, entry: null, rule: "form" },
    ]);
    expect((await verifyLines(lines.toSpliced(1, 0, lines[first]!))).findings).toMatchObject([
      { line: 2, rule: "form" },
    ]);
    await expect(verifyLines([lines[first]!, ...lines])).rejects.toThrow("it does not begin with an entry of a log");
  });

  test("an erased content without an entry of the erasure", async () => {
    const line = contentLine(ids[0]!);
    const report = await verifyLines(lines.with(line, lines[line]!.replace('"content":', '"erased":')));
    expect(report).toMatchObject({
      findings: [
        { line: line + 1, entry: 2, message: `${ids[0]} is marked as erased, but no entry records an erasure` },
      ],
      contents: { changes: 2, unfit: 1, erased: 0 },
    });
  });

  test("an edited remaining content of an erasure", async () => {
    const erasing = await service();
    const { change_id } = await erasing.propose({ summary: "Wombat", value: '"secret"' });
    await erasing.act("deny", change_id);
    await erasing.propose();
    await erasing.post("erase", { change_id, actor: "dpo" });
    const { text } = await erasing.get("export");
    expect(text).not.toMatch(/Wombat|secret/);
    const exported = splitLines(text);
    expect(await verifyLines(exported)).toMatchObject({
      verdict: "consistent",
      contents: { changes: 1, intents: 1, unfit: 0, missing: 0, erased: 1, erased_changes: [change_id] },
    });
    const line = exported.findIndex((exportedLine) => exportedLine.includes('"erased":{'));
    // The finding is reported at the entry of the erasure, which is the last line.
    expect(
      (await verifyLines(exported.with(line, exported[line]!.replace("ui.banner", "ui.Banner")))).findings,
    ).toMatchObject([
      {
        line: exported.length,
        entry: 5,
        message: `the remaining content of ${change_id} does not match the remaining_digest of its erasure`,
      },
    ]);
  });

  test("an edited entry, with its line in the file, contents included", async () => {
    const line = lines.findIndex((text) => text.includes('"consent_decision"'));
    const report = await verifyLines(lines.with(line, lines[line]!.replace('"tenant":"t1"', '"tenant":"t2"')));
    expect(report.findings).toMatchObject([{ line: line + 1, entry: 5, rule: "current_hash" }]);
  });

  test("an export without required contents, and one with contents that are not required", async () => {
    const plain = lines.filter((line) => line.startsWith('{"origin":'));
    expect((await verifyLines(plain)).contents).toMatchObject({ missing: 4 });
    expect(await verifyLines(plain, false)).toMatchObject({ verdict: "consistent", contents: null });
    expect((await verifyLines(lines, false)).findings.map(({ rule }) => rule)).toContain("form");
  });
});

/** Returns the lines with the detail of the first entry of an event forged, and all hashes computed again. */
function forgeDetail(event: string, forge: (detail: string) => string): string[] {
  let previous_hash = "0".repeat(64);
  let isForged = false;
  return lines.map((line) => {
    if (!line.startsWith('{"origin":')) return line;
    const { current_hash: _, ...entry } = JSON.parse(line);
    const detail = !isForged && entry.event_type === event ? forge(entry.detail) : entry.detail;
    isForged ||= entry.event_type === event;
    const forgedEntry = { ...entry, detail, previous_hash };
    previous_hash = hashEntry(forgedEntry);
    return JSON.stringify({ ...forgedEntry, current_hash: previous_hash });
  });
}

describe("a detail that JSON parsers read differently gets the same verdict from both verifiers", () => {
  const wrapInList = (member: string) => (detail: string) =>
    detail.replace(new RegExp(`"${member}":("[^"]+")`), `"${member}":[$1]`);
  const addMembers = (members: string) => (detail: string) => `${detail.slice(0, -1)},${members}}`;
  test.each([
    ["NaN", "change_proposed", addMembers('"x":NaN'), "bad"],
    ["Infinity", "intent_in_force", addMembers('"x":-Infinity'), "bad"],
    // Python rejects integers of more than 4300 digits by default.
    ["a number of five thousand digits", "change_proposed", addMembers(`"x":${"1".repeat(5000)}`), "consistent"],
    ["a list of one digest", "change_proposed", wrapInList("digest"), "bad"],
    ["a list of one manifest's hash", "intent_in_force", wrapInList("manifest_hash"), "bad"],
    [
      "principals that the manifest does not have",
      "intent_in_force",
      addMembers('"principals":{"a":null,"b":"c"}'),
      "bad",
    ],
  ])("%s", async (_, event, forge, verdict) => {
    expect((await verifyLines(forgeDetail(event, forge))).verdict).toBe(verdict);
  });
});

test.skipIf(pythonMissing)(
  `verify_audit.py reports the same for all these files (${pythonMissing ?? "python3 is here"})`,
  () => {
    const reported = runPythonOften(verifiedFiles.flatMap(({ args }) => [[...args, "--json"], args]));
    for (const [index, { path, report }] of verifiedFiles.entries()) {
      expect(JSON.parse(reported[2 * index]!.stdout), path).toEqual(report);
      expect(reported[2 * index + 1]!.stdout, path).toBe(`${reportText(path, report)}\n`);
    }
  },
);
