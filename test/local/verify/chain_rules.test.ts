/** Tests the verifier's chain: which rule each faulty line breaks, and that a fault is not reported again for later lines. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { emptyChain, verifyLine } from "../../../local/verify/chain.ts";
import { rehashed } from "../../tamper/world.ts";

const GOLDEN = readFileSync("test/golden/files/log.jsonl", "utf8").split("\n").slice(0, 4);
const ENTRIES = GOLDEN.map((line) => JSON.parse(line) as AuditEntry);
/** Edits an entry, and leaves all hashes; `rehashed(entries, 0)` recomputes those of all entries. */
const edit = (at: number, over: Partial<AuditEntry>): AuditEntry[] =>
  ENTRIES.map((entry, index) => (index === at ? { ...entry, ...over } : entry));

/** Verifies lines; returns the line, entry and rule of each finding, and the state of the chain at the end. */
function run(lines: readonly (string | AuditEntry)[]) {
  const chain = emptyChain();
  const found = lines.flatMap((line) => {
    const finding = verifyLine(chain, typeof line === "string" ? line : JSON.stringify(line));
    return finding ? [[finding.line, finding.entry, finding.rule]] : [];
  });
  return { found, lines: chain.lines, continuedEntry: chain.last?.id, lastLineEntry: chain.entry?.id };
}

const EARLIER = "2020-01-01T00:00:00.000Z";
const UPPER = { current_hash: ENTRIES[1]!.current_hash.replace(/[a-f]/, "A") };

test.each<[log: string, lines: (string | AuditEntry)[], found: [line: number, entry: number | null, rule: string][]]>([
  ["as the service wrote it", GOLDEN, []],
  ["without its first line", GOLDEN.slice(1), [[1, 2, "id"]]],
  ["without a line", GOLDEN.toSpliced(1, 1), [[2, 3, "id"]]],
  ["with a line twice", GOLDEN.toSpliced(1, 0, GOLDEN[0]!), [[2, 1, "id"]]],
  ["of another origin in a line", rehashed(edit(1, { origin: "x" }), 0), [[2, 2, "origin"]]],
  [
    "of another origin",
    rehashed(
      ENTRIES.map((entry) => ({ ...entry, origin: "x" })),
      0,
    ),
    [],
  ],
  ["with another field", edit(1, { tenant: "x" }), [[2, 2, "current_hash"]]],
  ["with another hash before a line", edit(1, { previous_hash: "0".repeat(64) }), [[2, 2, "previous_hash"]]],
  [
    "with another hash of a line",
    edit(1, { current_hash: "0".repeat(64) }),
    [
      [2, 2, "current_hash"],
      [3, 3, "previous_hash"],
    ],
  ],
  ["with a hash in capitals", edit(1, UPPER), [[2, null, "form"]]],
  ["with a line that is no entry", GOLDEN.with(1, "{}"), [[2, null, "form"]]],
  ["with an earlier time", rehashed(edit(2, { timestamp: EARLIER }), 0), [[3, 3, "timestamp"]]],
  [
    "with the same time",
    rehashed(
      ENTRIES.map((entry) => ({ ...entry, timestamp: EARLIER })),
      0,
    ),
    [],
  ],
  [
    "with an earlier time that was accepted",
    rehashed(edit(3, { timestamp: EARLIER, event_type: "clock_accepted" }), 0),
    [],
  ],
])("a log %s", (_, lines, expected) => {
  expect(run(lines).found).toEqual(expected);
});

test("the last verified entry is known, and none after a line that is not an entry", () => {
  expect(run(GOLDEN)).toEqual({ found: [], lines: 4, continuedEntry: 4, lastLineEntry: 4 });
  expect(run(GOLDEN.with(3, "{}"))).toEqual({
    found: [[4, null, "form"]],
    lines: 4,
    continuedEntry: undefined,
    lastLineEntry: undefined,
  });
});
