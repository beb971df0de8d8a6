import { expect, test } from "vitest";
import { jsonText } from "../../../../lib/store/engine/json_text.ts";

test.each([
  [Number.NaN, "changes/c1 cannot be stored: NaN is not a JSON number"],
  [{ list: [1, { n: 1n }] }, "changes/c1.list[1].n cannot be stored: bigint is not a JSON type"],
  [{ at: new Date(0) }, "changes/c1.at cannot be stored: a Date is not plain data"],
  [[undefined], "changes/c1[0] cannot be stored: undefined is not a JSON type"],
  [{ toJSON: () => "other" }, "changes/c1.toJSON cannot be stored: function is not a JSON type"],
])("what JSON cannot hold is refused, and the place is named", (value, message) => {
  expect(() => jsonText(value, "changes/c1")).toThrow(new TypeError(message));
});

test("a value that contains itself is refused, not followed for ever", () => {
  const value: { self?: unknown } = {};
  value.self = value;
  expect(() => jsonText(value, "changes/c1")).toThrow(/contains itself/);
});

test("objects without a prototype are data", () => {
  expect(jsonText(Object.assign(Object.create(null), { a: 1 }), "x/y")).toBe('{"a":1}');
});
