/** Compares the bytes that are hashed, signed, stored and sent with those that were recorded. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { endpoints } from "../../handlers/index.ts";
import { EVENT_TYPES } from "../../lib/audit/entry.ts";
import { runHistory } from "./history.ts";
import { createRecordings } from "./recordings.ts";

const FOLDER = join(import.meta.dirname, "files");
const MAX_BYTES = 560_000;
const isUpdate = process.env["UPDATE_GOLDEN"] === "1";

const listGoldenFiles = (): string[] =>
  readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.\w+$/.test(name))
    .sort();
const readGolden = (name: string): string => readFileSync(join(FOLDER, name), "utf8");

let actual: Map<string, string>;
beforeAll(async () => {
  actual = await createRecordings(await runHistory());
  if (!isUpdate) return;
  rmSync(FOLDER, { recursive: true, force: true });
  for (const [name, text] of actual) {
    mkdirSync(dirname(join(FOLDER, name)), { recursive: true });
    writeFileSync(join(FOLDER, name), text);
  }
});
afterAll(() => void vi.restoreAllMocks());

test("the history produces exactly the golden files", () => {
  expect([...actual.keys()].sort()).toEqual(listGoldenFiles());
});

test("each file has the bytes that were recorded", () => {
  // One assertion for each file, so that the report shows the differing lines of all.
  for (const name of listGoldenFiles())
    if (actual.get(name) !== readGolden(name))
      expect
        .soft(actual.get(name)?.split("\n"), `${name}: UPDATE_GOLDEN=1 records it again`)
        .toEqual(readGolden(name).split("\n"));
});

test("every endpoint has a golden answer", () => {
  const recorded = listGoldenFiles().filter((name) => name.startsWith("answers/"));
  expect(recorded).toEqual(endpoints.map(({ operation }) => `answers/${operation}.json`).sort());
});

test("the golden log has an entry of every event type", () => {
  const types = readGolden("log.jsonl")
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { event_type: string }).event_type);
  expect(EVENT_TYPES.filter((type) => !types.includes(type))).toEqual([]);
});

test("the golden files stay small enough to review", () => {
  expect(listGoldenFiles().reduce((sum, name) => sum + readGolden(name).length, 0)).toBeLessThan(MAX_BYTES);
});
