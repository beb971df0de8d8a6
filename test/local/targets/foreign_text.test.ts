/** JSON text of other programs is parsed if its numbers are exact; other text is returned unparsed. */
import { expect, test } from "vitest";
import { parseForeignText } from "../../../local/targets/foreign_text.ts";

test.each([
  // JSON.stringify writes 1e+21, and jsonb in Postgres returns this text.
  ["1000000000000000000000", 1e21],
  ["[1e2, 1.50, -0.1]", [100, 1.5, -0.1]],
  ['{"id": "12345678901234567891"}', { id: "12345678901234567891" }],
])("the text %s is parsed", (text, value) => expect(parseForeignText(text)).toEqual(value));

test.each([
  "12345678901234567891",
  "0.12345678901234567890",
  "[1e-400]",
  '{"share": 0.30000000000000001}',
  "1e999",
  '{"a": 1, "a": 2}',
  "on",
])("the text %s is returned unparsed", (text) => expect(parseForeignText(text)).toEqual({ unparsed: text }));
