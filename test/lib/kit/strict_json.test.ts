/** Strict JSON: repeated members, malformed Unicode and numbers out of range are rejected. */
import { expect, test } from "vitest";
import { JsonRejected, parseStrictJson } from "../../../lib/kit/strict_json.ts";

test.each([
  '{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}',
  '{"a":"\\"a\\":1,\\"a\\":2"}',
  '{"a":"{","b":"[","c":",","d":"\\\\"}',
  '{"a":["a","a","a"],"b":"a"}',
  '{"":1,"\\u0000":2}',
  '{"__proto__":1,"constructor":2}',
  '["x","x"]',
  '{ "a": "x", "b": { "c": ["y", 1, null, true] } }',
  '"text with , and { and ]"',
  "-1.5e-3",
  " [ ] ",
])("%s is parsed like JSON.parse", (text) => {
  expect(parseStrictJson(text)).toEqual(JSON.parse(text));
});

test.each([
  ['{"a":1,"a":1}', '"a"'],
  ['{"a":1,"\\u0061":2}', '"a"'],
  ['{"a":{"b":1},"a":2}', '"a"'],
  ['{"a":{"b":1,"b":2}}', '"b"'],
  ['[{"x":1},{"x":[{"y":1,"z":2,"y":3}]}]', '"y"'],
  ['{"a\\"b":1,"a\\"b":2}', '"a\\"b"'],
  ['{"a":[],"b":{},"a":null}', '"a"'],
  ['{"__proto__":1,"__proto__":2}', '"__proto__"'],
  ['{ "a" : 1 ,\n "a" : 2 }', '"a"'],
  ['{"a":["x","y"],"a":1,"b":"z"}', '"a"'],
  ['{"a":"x","b":"y","a":["u","v"]}', '"a"'],
])("%s is rejected for a repeated member", (text, name) => {
  expect(() => parseStrictJson(text)).toThrow(new JsonRejected(`repeats the member ${name}`));
});

test.each(["", "{", "{a:1}", "[1,]", "NaN", "undefined", "'x'", "1 2", "\u0000"])(
  "%j is rejected, since it is not JSON",
  (text) => {
    expect(() => parseStrictJson(text)).toThrow(new JsonRejected("is not valid JSON"));
  },
);

test.each(['"\\ud800"', '["x\\udc00"]', '{"a":{"b":"\\ud800\\ud800"}}', '{"\\udfff":1}'])(
  "%s is rejected, since it is not well-formed Unicode",
  (text) => {
    expect(() => parseStrictJson(text)).toThrow(JsonRejected);
  },
);

test.each(["1e999", "-1e999", '{"a":[1e400]}'])("%s is rejected, since it is beyond the range of numbers", (text) => {
  expect(() => parseStrictJson(text)).toThrow(JsonRejected);
});

test.each([199, 1000, 30_000])("nesting of depth %i is parsed or rejected with a message", (depth) => {
  for (const text of ["[".repeat(depth) + "]".repeat(depth), `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`]) {
    try {
      parseStrictJson(text);
    } catch (error) {
      expect(error).toBeInstanceOf(JsonRejected);
    }
  }
});

test("an error shows no part of the text except the name of a member", () => {
  for (const text of ['{"token":"secret","token":"secret"}', '{"token":"secret"', '{"token":"secret\\ud800"}'])
    expect(() => parseStrictJson(text)).toThrow(
      expect.not.objectContaining({ message: expect.stringMatching("secret") }),
    );
});

test("surrogate pairs are well-formed", () => {
  expect(parseStrictJson('{"😀":["😀","\\ud83d\\ude00"]}')).toEqual({ "😀": ["😀", "😀"] });
});
