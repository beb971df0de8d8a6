/** Tests the texts of the command line: tables, facts, and escaped invisible characters. */
import { expect, test } from "vitest";
import { formatFacts, formatTable, escapeInvisible, formatEntry } from "../../../local/command_line/text.ts";
import { openCommandLine } from "./open_command_line.ts";

test("tables are aligned in every script and cut to a width; facts that are null are omitted", () => {
  const lines = formatTable(
    ["a", "b"],
    [
      ["中文", "1"],
      ["é", "2"],
      ["e\u0301", "3"],
    ],
  ).split("\n");
  // A Chinese character is two columns wide, a combining accent has no width.
  expect(lines).toEqual(["a     b", "中文  1", "é     2", "e\u0301     3"]);
  expect(formatTable(["a", "b"], [["x", "a long text"]], 8)).toBe("a  b\nx  a lo…");
  expect(formatFacts({ one: 1, absent: null, three: "x" })).toBe("  one    1\n  three  x");
  // Further lines of a value are indented, so that none looks like a fact.
  expect(formatFacts({ why: "first\n\r\n  digest  fake" })).toBe("  why  first\n       \n         digest  fake");
});

test("in a narrow terminal the least needed columns are omitted before the last one is cut", () => {
  const lines = (columns: number) =>
    formatTable(["id", "tier", "risk", "summary"], [["c1", "standard", "low", "x".repeat(60)]], columns, [
      "risk",
      "tier",
    ]).split("\n");
  // The last column needs 24 characters, and the others take 20.
  expect(lines(44)[0]).toBe("id  tier      risk  summary");
  expect(lines(43)[0]).toBe("id  tier      summary");
  expect(lines(37)[0]).toBe("id  summary");
  expect(lines(37)[1]).toBe(`c1  ${"x".repeat(32)}…`);
  expect(formatTable(["id", "tier", "summary"], [["c1", "standard", "short"]], 20, ["tier"])).toBe(
    "id  summary\nc1  short",
  );
});

test("control and invisible characters are escaped", async () => {
  expect(escapeInvisible("a\u001b[2Jb\u202Ec\u200Bd\ne")).toBe("a\\u{1b}[2Jb\\u{202e}c\\u{200b}d\\u{a}e");
  const { call } = await openCommandLine();
  const evil = "Fine\u001b]0;owned\u0007\u202Elaw";
  await call([
    "propose",
    "--tenant-id",
    "t1",
    "--kind",
    "config",
    "--target",
    "ui.x",
    "--summary",
    "Fine",
    "--rationale",
    evil,
  ]);
  const { out } = await call(["list", "--json"]);
  const [{ change_id }] = JSON.parse(out).changes;
  // Control characters other than line breaks, and the override of the text's direction.
  for (const argv of [["list"], ["show", change_id], ["audit", "list"]])
    expect((await call(argv)).out).not.toMatch(/[^\n\P{Cc}]|\u202E/u);
  expect((await call(["show", change_id])).out).toContain("Fine\\u{1b}]0;owned\\u{7}\\u{202e}law");
});

test("an entry in a sentence has its invisible characters escaped", () => {
  const detail = { decision: "denied", approver: "an\u202ea", note: "no\u001b[31m" };
  expect(formatEntry({ event_type: "consent_decision", detail })).toBe("Denied by “an\\u{202e}a”: “no\\u{1b}[31m”");
});
