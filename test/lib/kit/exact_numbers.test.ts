/** Numbers in JSON that change when they are parsed and printed again are found with their path; 0.1 does not change. */
import { expect, test } from "vitest";
import { findInexactNumber } from "../../../lib/kit/exact_numbers.ts";

test.each([
  "0.1",
  "1e-05",
  "1.0",
  "1E5",
  "-0",
  "0.00000000000000000000",
  "9007199254740992",
  "-9007199254740991",
  "100000000000000000000",
  "1e21",
  "1.7976931348623157e308",
  "5e-324",
  "0.30000000000000004",
  "10000000000000000000000e-3",
  '"9007199254740993"',
  '{"9007199254740993":1}',
  '["\\"9007199254740993"]',
])("%s is exact", (text) => {
  expect(findInexactNumber(text)).toBeUndefined();
});

test.each([
  ["9007199254740993", ""],
  ["12345678901234567890", ""],
  ["0.12345678901234567890", ""],
  ["1e-400", ""],
  ["3e-324", ""],
  ['{"a":1,"value":{"ids":["x",[],12345678901234567890]}}', "value.ids.2"],
  ['{"a":{},"b":[{"c":9007199254740993}]}', "b.0.c"],
])("%s has a number at %j that parsing would change", (text, path) => {
  expect(findInexactNumber(text)).toBe(path);
});

test("only numbers at a matching path are checked", () => {
  const text = '{"delta":9007199254740993,"value":[9007199254740993]}';
  expect(findInexactNumber(text, (path) => path.startsWith("value"))).toBe("value.0");
  expect(findInexactNumber(text, (path) => path === "other")).toBeUndefined();
});
