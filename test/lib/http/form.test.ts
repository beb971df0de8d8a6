/** Parsing of forms and JSON bodies, and the errors of invalid fields. */
import { expect, test } from "vitest";
import * as z from "zod";
import { AppError } from "../../../lib/kit/errors.ts";
import { parseForm, parseInput, parseJsonObject } from "../../../lib/http/form.ts";
import { changeId, flag, freeText, line, personName, integer, word } from "../../../lib/kit/fields.ts";

/** Returns the invalid fields of the error that `run` throws, with their messages. */
function invalidFields(run: () => unknown): [string, string][] {
  try {
    run();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect([error.code, error.status]).toEqual(["invalid_field", 400]);
    const fields = error.details["fields"] as { field: string; message: string }[];
    for (const { field, message } of fields) expect(error.message).toContain(`${field} ${message}`);
    return fields.map(({ field, message }) => [field, message]);
  }
  throw new Error("no field was rejected");
}

test.each([
  ["", {}],
  ["&&", {}],
  ["a=1&b=2", { a: "1", b: "2" }],
  ["a", { a: "" }],
  ["a=", { a: "" }],
  ["=x", { "": "x" }],
  ["a=b=c", { a: "b=c" }],
  ["a+b=c+d%2B", { "a b": "c d+" }],
  ["%61=%C3%A9", { a: "é" }],
  ["a;b=1", { "a;b": "1" }],
  ["toString=1", { toString: "1" }],
])("the form %j is parsed into its fields", (text, fields) => {
  expect({ ...parseForm(text) }).toEqual(fields);
});

test("the fields of a form have no prototype", () => {
  const fields = parseForm("__proto__=x");
  expect(Object.keys(fields)).toEqual(["__proto__"]);
  expect(Object.getPrototypeOf(fields)).toBeNull();
});

test("a repeated key is rejected with its name", () => {
  expect(invalidFields(() => parseForm("a=1&%61=2"))).toEqual([["a", "is given more than once"]]);
});

test.each(["[]", "null", '"x"', "1", "true"])("the JSON body %s is rejected, since it is not an object", (text) => {
  expect(invalidFields(() => parseJsonObject(text))).toEqual([["body", "must be a JSON object"]]);
});

test("every invalid field is reported once, with the reason", () => {
  const schema = z.strictObject({
    name: line(3),
    kind: word(["a", "b"]),
    users: integer(0),
    page: integer(1, 10),
    on: flag(),
  });
  const input = { name: "abcd", kind: "c", users: "1e999", page: "11", extra: 1 };
  expect(invalidFields(() => parseInput(schema, input)).sort()).toEqual([
    ["extra", "is not a field of this request: did you mean users?"],
    ["kind", "must be one of a, b"],
    ["name", "must have at most 3 characters"],
    ["on", "is required"],
    ["page", "must be a whole number from 1 to 10"],
    ["users", "must be a whole number of 0 or more"],
  ]);
});

test("an error does not contain the value", () => {
  const fields = invalidFields(() =>
    parseInput(z.object({ kind: word(["a"]), users: integer(0) }), { kind: "s3cret", users: "s3cret" }),
  );
  expect(JSON.stringify(fields)).not.toContain("s3cret");
});

test.each([
  ["free text", freeText(10)],
  ["a line", line(10)],
  ["a name", personName()],
  ["an id", changeId()],
])("%s must be well-formed Unicode", (_, schema) => {
  const input = z.object({ text: schema });
  expect(invalidFields(() => parseInput(input, { text: "a\ud800" }))[0]![0]).toBe("text");
  expect(parseInput(input, { text: "a😀" })).toEqual({ text: "a😀" });
});
