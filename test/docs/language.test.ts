/** The language check finds faulty wording and accepts plain English. */
import { expect, test } from "vitest";
// @ts-expect-error a script without types
import * as rules from "../../.ci/language/rules.mjs";

const { findFaults } = rules as { findFaults(file: string, line: string): string[] };

// Words that .ci/language/rules.mjs lists: some are faults in any text, others only in declared names, but not in those of tests.
test.each<[file: string, line: string, faultCount: number]>([
  ["docs/a.md", "What the log has told is held against it.", 2],
  ["lib/a.ts", "/** What is written. */", 1],
  ["lib/a.ts", "const asTold = 1;", 2],
  ["lib/a.ts", "export function placeOf(id: string) {", 1],
  ["lib/a.ts", 'throw new Error("told twice");', 1],
  ["test/a.test.ts", `test("${"x".repeat(91)}", () => {`, 1],
  ["docs/a.py", "def patrol(entries):", 1],
  ["lib/a.ts", "const refused = 1;", 1],
  ["lib/a.ts", "const MOST_BYTES = 1;", 1],
  ["lib/a.ts", "export function whyNot(): void {", 2],
  ["lib/a.ts", "export const whileBusy = (work: Work) => work;", 1],
  ["lib/a.ts", "export interface Evaluated {", 1],
])("%s: %s is reported", (file, line, faultCount) => {
  expect(findFaults(file, line)).toHaveLength(faultCount);
});

test.each([
  ["docs/a.md", "Verify the export against the receipt."],
  ["lib/a.ts", "/** Returns the entries in chain order. */"],
  ["lib/a.ts", "  return kpisTold(entries);"],
  ["lib/a.ts", 'import { asTold } from "./as_told.ts";'],
  ["lib/a.ts", "export function readEntries(after: number) {"],
  ["test/a.test.ts", `test("${"x".repeat(90)}", () => {`],
  ["test/a.test.ts", "const refused = 1;"],
  ["lib/a.ts", "export const entryHash = (entry: AuditEntry) => entry.current_hash;"],
  ["lib/a.ts", "export type Need = string;"],
])("%s: %s is accepted", (file, line) => {
  expect(findFaults(file, line)).toEqual([]);
});
