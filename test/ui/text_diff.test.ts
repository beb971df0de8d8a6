/** Comparison of two values for a reader: which members differ, which lines and words, and what is folded. */
import { expect, test } from "vitest";
import { listChangedPaths } from "../../local/ui/domain/changed_paths.ts";
import { diffLines, type DiffLine, foldUnchanged, patchLines } from "../../local/ui/domain/text_diff.ts";

const shown = (lines: readonly DiffLine[]): string[] => lines.map(({ side, text }) => side[0] + text);
const marks = (lines: readonly DiffLine[]): string[] =>
  lines.flatMap(({ text, changed = [] }) => changed.map(([from, to]) => text.slice(from, to)));
const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index}`);

test("a diff has the lines that went and came, in their order", () => {
  expect(shown(diffLines("a\nb\nc", "a\nx\nc\nd"))).toEqual(["sa", "bb", "ax", "sc", "ad"]);
  expect(diffLines("", "new")).toEqual([{ side: "after", text: "new" }]);
  expect(diffLines("old", "")).toEqual([{ side: "before", text: "old" }]);
});

test("two changed lines of 3,502 are four lines, and everything far from them is folded", () => {
  const before = numbered(3502);
  const after = before.with(1000, "line one thousand").with(3000, "line three thousand");
  const lines = diffLines(before.join("\n"), after.join("\n"));
  expect(lines.filter(({ side }) => side !== "same")).toHaveLength(4);
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

test.each([
  [6, 1],
  [8, 1],
  [9, 3],
])("%i unchanged lines between two changes are %i blocks", (count, blocks) => {
  const lines = diffLines(["a", ...numbered(count), "b"].join("\n"), ["A", ...numbered(count), "B"].join("\n"));
  expect(foldUnchanged(lines)).toHaveLength(blocks);
});

test("texts that have nothing in common are shown one after the other", () => {
  const lines = diffLines(numbered(2000).join("\n"), numbered(2000).join(" x\n"));
  expect(lines).toHaveLength(4000);
  expect(shown(lines.slice(1999, 2001))).toEqual(["bline 1999", "aline 0 x"]);
});

test("the words that differ are marked in lines that have others in common", () => {
  expect(marks(diffLines('"free for 14 days"', '"free for 4 days"'))).toEqual(["14", "4"]);
  expect(marks(diffLines("one two", "three four"))).toEqual([]);
  expect(marks(diffLines("a b\nsame", "a c\na d\nsame"))).toEqual([]);
});

const PATHS: [string, unknown, unknown, [string, string | undefined, string | undefined][]][] = [
  [
    "members",
    { limits: { per_day: 400, per_hour: 9 } },
    { limits: { per_day: 900, per_hour: 9 } },
    [["limits.per_day", "400", "900"]],
  ],
  [
    "members that come and go",
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
  ["names that are no words", { "a.b": { "": 1 } }, { "a.b": { "": 2 } }, [['["a.b"][""]', "1", "2"]]],
  ["another type", { a: [1] }, { a: { 0: 1 } }, [["a", "[1]", '{"0":1}']]],
  ["a name that every object has", {}, { constructor: 1 }, [["constructor", undefined, "1"]]],
];

test.each(PATHS)("changed paths: %s", (_, before, after, expected) => {
  const paths = listChangedPaths(JSON.stringify(before), JSON.stringify(after));
  expect(paths?.map((each) => [each.path, each.before, each.after])).toEqual(expected);
});

test("of long texts a changed path shows the part that differs", () => {
  const text = (days: number): string =>
    JSON.stringify({ mail: `${"before ".repeat(400)}for ${days} days${" after".repeat(400)}` });
  expect(listChangedPaths(text(14), text(4))).toEqual([
    { path: "mail", before: "…fore before for 14 days after aft…", after: "…fore before for 4 days after aft…" },
  ]);
});

test("a text that is no object or list has no paths", () => {
  expect(listChangedPaths("1", "2")).toBeUndefined();
  expect(listChangedPaths("{}", "no JSON")).toBeUndefined();
});

test("a patch shows what goes and what comes, and its other lines as they are", () => {
  const patch =
    "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n same\n--- a comment\n-old\n+new\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n+last\n";
  expect(patchLines(patch).map(({ side, text }) => `${side[0]}|${text}`)).toEqual([
    "s|--- a/x", "s|+++ b/x", "s|@@ -1,3 +1,2 @@", "s|same", "b|-- a comment", "b|old", "a|new",
    "s|--- a/y", "s|+++ b/y", "s|@@ -1 +1 @@", "a|last",
  ]); // prettier-ignore
  expect(shown(patchLines("- no hunk\n+ at all"))).toEqual(["s- no hunk", "s+ at all"]);
});
