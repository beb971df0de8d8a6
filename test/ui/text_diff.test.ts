/** Comparison of two values: changed members, changed lines and words, and folded lines. */
import { expect, test } from "vitest";
import { listChangedPaths } from "../../local/ui/domain/changed_paths.ts";
import { diffLines, type DiffLine, foldUnchanged, patchLines } from "../../local/ui/domain/text_diff.ts";

/** Formats each line as the first letter of its side (same, before or after) and its text. */
const formatLines = (lines: readonly DiffLine[]): string[] => lines.map(({ side, text }) => side[0] + text);
const listChangedWords = (lines: readonly DiffLine[]): string[] =>
  lines.flatMap(({ text, changed = [] }) => changed.map(([from, to]) => text.slice(from, to)));
const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index}`);

test("a diff lists removed and added lines in order", () => {
  expect(formatLines(diffLines("a\nb\nc", "a\nx\nc\nd"))).toEqual(["sa", "bb", "ax", "sc", "ad"]);
  expect(diffLines("", "new")).toEqual([{ side: "after", text: "new" }]);
  expect(diffLines("old", "")).toEqual([{ side: "before", text: "old" }]);
});

test("two changed lines of 3,502 make four diff lines, and distant lines are folded", () => {
  const before = numbered(3502);
  const after = before.with(1000, "line one thousand").with(3000, "line three thousand");
  const lines = diffLines(before.join("\n"), after.join("\n"));
  expect(lines.filter(({ side }) => side !== "same")).toHaveLength(4);
  // Three unchanged lines before and after each change are not folded.
  const blocks = foldUnchanged(lines);
  expect(blocks.map(({ folded, lines: { length } }) => [folded, length])).toEqual([
    [true, 997],
    [false, 8],
    [true, 1993],
    [false, 8],
    [true, 498],
  ]);
  expect(blocks.flatMap(({ lines: own }) => own)).toEqual(lines);
});

// Three lines stay on each side, and fewer than three others are not folded.
test.each([
  [6, 1],
  [8, 1],
  [9, 3],
])("%i unchanged lines between two changes make %i blocks", (count, blocks) => {
  const lines = diffLines(["a", ...numbered(count), "b"].join("\n"), ["A", ...numbered(count), "B"].join("\n"));
  expect(foldUnchanged(lines)).toHaveLength(blocks);
});

test("texts that differ in more than 1,000 lines are shown one after the other", () => {
  // All lines differ but the last one, after which join adds nothing.
  const lines = diffLines(numbered(2000).join("\n"), numbered(2000).join(" x\n"));
  expect(lines).toHaveLength(4000);
  expect(formatLines(lines.slice(1999, 2001))).toEqual(["bline 1999", "aline 0 x"]);
});

test("changed words are marked in lines that have other words in common", () => {
  expect(listChangedWords(diffLines('"free for 14 days"', '"free for 4 days"'))).toEqual(["14", "4"]);
  expect(listChangedWords(diffLines("one two", "three four"))).toEqual([]);
  expect(listChangedWords(diffLines("a b\nsame", "a c\na d\nsame"))).toEqual([]);
});

const PATHS: [string, unknown, unknown, [string, string | undefined, string | undefined][]][] = [
  [
    "members",
    { limits: { per_day: 400, per_hour: 9 } },
    { limits: { per_day: 900, per_hour: 9 } },
    [["limits.per_day", "400", "900"]],
  ],
  [
    "removed and added members",
    { a: 1 },
    { b: null },
    [
      ["a", "1", undefined],
      ["b", undefined, "null"],
    ],
  ],
  [
    "items",
    { list: [1, 2] },
    { list: [1, 3, 4] },
    [
      ["list[1]", "2", "3"],
      ["list[2]", undefined, "4"],
    ],
  ],
  ["names that need quotes", { "a.b": { "": 1 } }, { "a.b": { "": 2 } }, [['["a.b"][""]', "1", "2"]]],
  ["another type", { a: [1] }, { a: { 0: 1 } }, [["a", "[1]", '{"0":1}']]],
  ["a name of the object prototype", {}, { constructor: 1 }, [["constructor", undefined, "1"]]],
];

test.each(PATHS)("changed paths: %s", (_, before, after, expected) => {
  const paths = listChangedPaths(JSON.stringify(before), JSON.stringify(after));
  expect(paths?.map((each) => [each.path, each.before, each.after])).toEqual(expected);
});

test("a changed path shows only the part of a long text that differs", () => {
  const text = (days: number): string =>
    JSON.stringify({ mail: `${"before ".repeat(400)}for ${days} days${" after".repeat(400)}` });
  expect(listChangedPaths(text(14), text(4))).toEqual([
    { path: "mail", before: "…fore before for 14 days after aft…", after: "…fore before for 4 days after aft…" },
  ]);
});

test("a value that is no object or list has no paths", () => {
  expect(listChangedPaths("1", "2")).toBeUndefined();
  expect(listChangedPaths("{}", "no JSON")).toBeUndefined();
});

test("a patch shows removed and added lines, and its other lines as they are", () => {
  const patch =
    "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n same\n--- a comment\n-old\n+new\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n+last\n";
  expect(patchLines(patch).map(({ side, text }) => `${side[0]}|${text}`)).toEqual([
    "s|--- a/x", "s|+++ b/x", "s|@@ -1,3 +1,2 @@", "s|same", "b|-- a comment", "b|old", "a|new",
    "s|--- a/y", "s|+++ b/y", "s|@@ -1 +1 @@", "a|last",
  ]); // prettier-ignore
  expect(formatLines(patchLines("- no hunk\n+ at all"))).toEqual(["s- no hunk", "s+ at all"]);
});
