/** Patterns of targets, and the normal form of names. */
import { expect, test } from "vitest";
import { normalizeName } from "../../../../lib/changes/rules/names.ts";
import { matchesAny, matchesPattern } from "../../../../lib/changes/rules/target_pattern.ts";

test.each([
  ["limits.seats", "limits.seats", true],
  ["limits.seats", "LIMITS.*", true],
  ["limits.seats", "*.Seats", true],
  ["limits.seats", "*", true],
  ["limits.seats", "l*.s*s", true],
  ["limits.seats", "limits.seats*", true],
  ["limits.seats", "limits", false],
  ["limits.seats", "limitsxseats", false],
  ["limits-seats", "limits.seats", false],
  ["limits.seats", "*seats.*", false],
  ["limits.seats", "", false],
  // The parts of a pattern before and after the star must not overlap.
  ["aba", "aba*ba", false],
  ["abba", "ab*ba", true],
  ["abcabd", "a*c*d", true],
  ["abcabd", "a*d*c", false],
])("%s matches the pattern %s: %s", (target, pattern, isMatch) => {
  expect(matchesPattern(target, pattern)).toBe(isMatch);
  expect(matchesAny(target, ["other.*", pattern])).toBe(isMatch);
});

test("without patterns nothing matches", () => {
  expect(matchesAny("limits.seats", [])).toBe(false);
});

test("a pattern with many stars is matched in little time", () => {
  expect(matchesPattern("a".repeat(200), `${"*a".repeat(99)}*b`)).toBe(false);
  expect(matchesPattern("a".repeat(200), `${"*a".repeat(99)}*`)).toBe(true);
});

test.each([
  ["ana@acme.example", "ana@acme.example"],
  ["Ana Meier", "ana meier"],
  [" Ana  Meier\n", "ana meier"],
  ["Ana\u00a0Meier", "ana meier"], // no-break space
  ["\uff21na", "ana"], // A in full width
  ["\u0130da", "i\u0307da"], // Turkish I with a dot
  ["A\u030angstrom", "\u00e5ngstrom"], // A with a combining ring
  // Greek: a final sigma equals any other sigma.
  ["\u039f\u03b4\u03c5\u03c3\u03c3\u03b5\u03cd\u03c2", "\u03bf\u03b4\u03c5\u03c3\u03c3\u03b5\u03cd\u03c3"],
  ["\u212aim", "kim"], // Kelvin sign
  ["STRA\u00dfE", "strasse"], // sharp s
  ["\u1e9e", "ss"], // capital sharp s
  ["\u0131da", "\u0131da"], // Turkish i without a dot
  // Persian: the zero-width non-joiner is left out.
  ["\u0639\u0644\u06cc\u200c\u0631\u0636\u0627", "\u0639\u0644\u06cc\u0631\u0636\u0627"],
  ["\u26a1\ufe0f ana", "\u26a1 ana"], // variation selector after a sign
  ["", ""],
])("%j is the name %j", (name, normalized) => {
  expect(normalizeName(name)).toBe(normalized);
});
