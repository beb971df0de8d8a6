/** Values as JSON of the store: rejected values, frozen values, and texts that are parsed when they are first used. */
import { expect, test } from "vitest";
import { freezeDeep, json, Json, toJson } from "../../../lib/store/json.ts";

const toText = (value: unknown): string => toJson(value, "changes/c1").text;

test.each([
  [Number.NaN, "changes/c1 cannot be stored: NaN is not a JSON number"],
  [{ list: [1, { n: 1n }] }, "changes/c1.list[1].n cannot be stored: bigint is not a JSON type"],
  [{ at: new Date(0) }, "changes/c1.at cannot be stored: a Date is not plain data"],
  [[undefined], "changes/c1[0] cannot be stored: undefined is not a JSON type"],
  [{ toJSON: () => "other" }, "changes/c1.toJSON cannot be stored: function is not a JSON type"],
])("values that JSON cannot represent are rejected with their path", (value, message) => {
  expect(() => toText(value)).toThrow(new TypeError(message));
});

test("a value that contains itself is rejected", () => {
  const value: { self?: unknown } = {};
  value.self = value;
  expect(() => toText(value)).toThrow(/contains itself/);
  expect(() => json(value)).toThrow(/^value\.self\..*contains itself/);
});

test("an object without a prototype is stored as an object", () => {
  expect(toText(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}');
});

test("a value is frozen with its text, and is the same object if it equals its parsed text", () => {
  const value = { list: [{ n: 1 }], text: "é" };
  const frozen = json(value);
  expect(frozen.text).toBe('{"list":[{"n":1}],"text":"é"}');
  expect(frozen.value).toBe(value);
  expect(() => value.list[0]!.n++).toThrow(TypeError);
  expect(() => value.list.push({ n: 2 })).toThrow(TypeError);
});

test.each([
  ["a member that is undefined", { a: 1, b: undefined }, { a: 1 }],
  ["a negative zero", { list: [-0] }, { list: [0] }],
  ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
])("a value with %s becomes the value of its text", (_, value, read) => {
  expect(json(value).value).toStrictEqual(read);
});

test("a put value is copied, unless it is already frozen JSON", () => {
  const value = { list: [1] };
  const copy = toJson(value, "x/y");
  value.list.push(2);
  expect(copy.value).toEqual({ list: [1] });
  const frozen = json({ a: 1 });
  expect(toJson(frozen, "x/y")).toBe(frozen);
});

test("a text is parsed once, when it is first used", () => {
  const frozen = new Json<{ a: number[] }>('{"a":[1]}');
  expect(frozen.value).toBe(frozen.value);
  expect(() => frozen.value.a.push(2)).toThrow(TypeError);
  expect(() => new Json("{").value).toThrow(SyntaxError);
});

test("freezing includes the contents of frozen objects", () => {
  const value = Object.freeze({ list: [{ n: 1 }] });
  expect(Object.isFrozen(freezeDeep(value).list[0])).toBe(true);
});
