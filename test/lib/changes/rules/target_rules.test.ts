/** `policy.targets`: valid and invalid rules for values. */
import { describe, expect, test } from "vitest";
import { loadIntent } from "../../../../lib/changes/rules/intent.ts";
import { findContradictions } from "../../../../lib/changes/rules/contradictions.ts";
import { describeRules } from "../../../../lib/changes/rules/describe_rules.ts";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import { makeIntent, manifest } from "../../../support/intents.ts";

const load = (targets: unknown, policy: object = {}) => makeIntent({ policy: { targets, ...policy } }).intent;
const rule = (overrides: object) => [{ match: ["price.*"], ...overrides }];
const schema = (overrides: object) => rule({ schema: overrides });

const FULL_RULES = [
  {
    match: ["price.*", "limits"],
    schema: {
      type: "object",
      properties: {
        seats: {
          type: "number",
          minimum: 1,
          maximum: 9,
          exclusiveMinimum: 0,
          exclusiveMaximum: 10,
          multipleOf: 0.5,
          enum: [1, 2, 3.5],
        },
        name: { type: "string", minLength: 1, maxLength: 20, pattern: "^[a-z]{1,20}$" },
        tags: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 5, uniqueItems: true },
        fixed: { type: "integer", const: 7 },
      },
      required: ["seats"],
      additionalProperties: false,
    },
    max_step: { relative: 0.05, hours: 24, members: ["seats"] },
    unit: "EUR",
    kpi_required: true,
  },
];

/** Returns the paths of all fields below a value. */
function* listFieldPaths(value: unknown, path: readonly (string | number)[] = []): Generator<(string | number)[]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const fieldPath = [...path, Array.isArray(value) ? Number(key) : key];
    // The author of the intent chooses the names of the members of `properties`.
    if (!Array.isArray(value) && path.at(-1) !== "properties") yield fieldPath;
    yield* listFieldPaths(inner, fieldPath);
  }
}

/** Returns a copy in which the field at a path has another name. */
function renameField(value: unknown, [first, ...rest]: readonly (string | number)[], name: string): unknown {
  if (Array.isArray(value)) return value.map((item, index) => (index === first ? renameField(item, rest, name) : item));
  const rename = (key: string, inner: unknown): [string, unknown] => {
    if (key !== first) return [key, inner];
    return rest.length === 0 ? [name, inner] : [key, renameField(inner, rest, name)];
  };
  return Object.fromEntries(Object.entries(value as object).map(([key, inner]) => rename(key, inner)));
}

/** One path of each field name. */
const FIELDS = [...new Map([...listFieldPaths(FULL_RULES)].map((path) => [path.at(-1), path])).values()];

test("the full rules of this test have every field", () => {
  expect(load(FULL_RULES).policy.targets).toHaveLength(1);
  expect(FIELDS.map((path) => path.at(-1)).toSorted()).toEqual(
    [
      "match schema max_step unit kpi_required type properties required additionalProperties minimum maximum",
      "exclusiveMinimum exclusiveMaximum multipleOf enum minLength maxLength pattern items minItems maxItems uniqueItems",
      "const relative hours members",
    ]
      .join(" ")
      .split(" ")
      .toSorted(),
  );
});

test.each(FIELDS.map((path) => [path.at(-1) as string, path] as const))(
  "%s with one letter wrong is rejected, and the error names the field",
  (name, path) => {
    const index = Math.floor(name.length / 2);
    const misspelling = `${name.slice(0, index)}${name[index] === "q" ? "w" : "q"}${name.slice(index + 1)}`;
    expect(() => load(renameField(FULL_RULES, path, misspelling))).toThrow(
      new RegExp(`has no field ${misspelling}: (did you mean ${name}\\?|known are .*\\b${name}\\b)`),
    );
    // In a shorter name, one letter less is too great a difference for a suggestion.
    if (name.length > 4)
      expect(() => load(renameField(FULL_RULES, path, name.slice(0, -1)))).toThrow(`did you mean ${name}?`);
  },
);

describe("a schema is rejected", () => {
  const nested = (depth: number): object =>
    depth === 1 ? { type: "object" } : { type: "object", properties: { a: nested(depth - 1) } };
  test.each([
    ["with another keyword", { type: "string", format: "date" }, "has no field format"],
    ["with $ref", { $ref: "#" }, "has no field $ref"],
    ["with anyOf", { type: "number", anyOf: [] }, "has no field anyOf"],
    ["without type", { minimum: 3 }, "type is required with other keywords"],
    ["with an unknown type", { type: "float" }, "type must be one of"],
    ["with a keyword of another type", { type: "string", minimum: 3 }, "minimum has no effect on the type string"],
    ["with bounds that allow no value", { type: "number", minimum: 3, maximum: 2 }, "maximum leaves no value"],
    [
      "with exclusive bounds that allow no value",
      { type: "number", minimum: 3, exclusiveMaximum: 3 },
      "leaves no value",
    ],
    ["with multipleOf 0", { type: "number", multipleOf: 0 }, "multipleOf must be above 0"],
    ["with an empty enum", { type: "number", enum: [] }, "enum must have a value"],
    ["with an enum of another type", { type: "number", enum: ["3"] }, "enum has a value that is no number"],
    ["with a const of another type", { type: "integer", const: 1.5 }, "const has a value that is no integer"],
    ["with uniqueItems without maxItems", { type: "array", uniqueItems: true }, "uniqueItems needs maxItems"],
    [
      "with uniqueItems and maxItems 201",
      { type: "array", uniqueItems: true, maxItems: 201 },
      "uniqueItems needs maxItems",
    ],
    ["with a pattern without maxLength", { type: "string", pattern: "^a$" }, "pattern needs maxLength"],
    ["with a pattern and maxLength 257", { type: "string", pattern: "^a$", maxLength: 257 }, "pattern needs maxLength"],
    ["with a reserved member", { type: "object", properties: { constructor: {} } }, "is a reserved word"],
    ["with a reserved requirement", { type: "object", required: ["toString"] }, "is a reserved word"],
    ["that requires what it excludes", { type: "object", required: ["a"], additionalProperties: false }, "excludes"],
    ["of 9 levels", nested(9), "is nested more than 8 deep"],
    ["of 16 KiB", { type: "string", enum: ["x".repeat(16 * 1024)] }, "has more than 16384 bytes"],
  ])("%s", (_, schemaInput, message) => {
    expect(() => load(schema(schemaInput))).toThrow(message);
    // The same is true of a nested schema.
    const nestedInput = { type: "array", items: { type: "object", properties: { a: schemaInput } } };
    expect(() => load(schema(nestedInput))).toThrow(message);
  });
  test("but not with 8 levels or with fields that begin with x-", () => {
    load(schema(nested(8)));
    load(schema({ type: "number", "x-why": "the board said so" }));
    load(schema({}));
  });
  test("that names __proto__", () => {
    const text = JSON.stringify(manifest({ policy: { targets: schema({ type: "object", properties: {} }) } }));
    const hostile = text.replace('"properties":{}', '"properties":{"__proto__":{}}');
    expect(() => loadIntent(hostile, portableSha256)).toThrow("__proto__");
  });
});

describe("a pattern", () => {
  const loadPattern = (pattern: string) => load(schema({ type: "string", maxLength: 256, pattern }));
  test.each([
    "^[a-z0-9]{1,20}$",
    "^[A-Z]{2}-\\d{4}$",
    "^[^<>]{0,256}$",
    "^v\\.[a-z]{1,5}[0-9]{1,5}x{3}$",
    "^é$",
    "^\\w{3}$",
  ])("%s is accepted", (pattern) => void loadPattern(pattern));
  test.each([
    "[a-z]", "^a", "a$", "^a\\$", "^(a+)+$", "^(a)$", "^a*$", "^a+$", "^a?$", "^a.b$", "^a|b$", "^[a-z]{1,}$",
    "^[a-z]{1,257}$", "^a{1,2}b{1,2}c{1,2}$", "^a{3,1}$", "^a{2}{3}$", "^\\b$", "^\\1$", "^(?=a)$", "^[z-a]$", "^[a$", "^\\p{L}$",
  ])("%s is rejected", (pattern) => expect(() => loadPattern(pattern)).toThrow("pattern")); // prettier-ignore
});

describe("a rule is rejected", () => {
  test.each([
    ["without a rule", rule({}), "has no rule"],
    ["without a target", [{ match: [], unit: "EUR" }], "match must name a target"],
    ["with a pattern that matches no target", [{ match: ["/x"], unit: "EUR" }], "matches no target"],
    ["with two kinds of step", rule({ max_step: { relative: 0.1, absolute: 3 } }), "must have relative or absolute"],
    ["with no step", rule({ max_step: { hours: 3 } }), "must have relative or absolute"],
    ["with a step of 0", rule({ max_step: { relative: 0 } }), "relative must be above 0"],
    ["with a window of 0", rule({ max_step: { relative: 1, hours: 0 } }), "hours must be above 0"],
    ["with a window of two years", rule({ max_step: { relative: 1, hours: 17520 } }), "hours must be 8784 or less"],
    ["with an empty member", rule({ max_step: { relative: 1, members: ["a..b"] } }), "members.0 must be a path"],
    ["with a reserved member", rule({ max_step: { relative: 1, members: ["a.valueOf"] } }), "members.0 must be a path"],
    ["with a step of text", rule({ schema: { type: "string" }, max_step: { absolute: 1 } }), "max_step needs a value"],
    [
      "with members of a number",
      rule({ schema: { type: "number" }, max_step: { absolute: 1, members: ["a"] } }),
      "max_step needs a value",
    ],
  ])("%s", (_, rules, message) => expect(() => load(rules)).toThrow(message));
});

test("members named approvers, permissions or groups are not read as lists of names", () => {
  const members = Object.fromEntries(
    ["approvers", "permissions", "groups"].map((name) => [
      name,
      { type: ["array", "string"], enum: ["group:none", [1, { x: null }]], items: {} },
    ]),
  );
  const schemaInput = { type: "object", properties: members, required: ["approvers", "permissions"] };
  expect(load(schema(schemaInput)).policy.targets[0]!.schema).toEqual(schemaInput);
});

test("the rules are described, and a rule for a forbidden target is reported", () => {
  const intent = load(
    [...rule({ schema: { type: "number" }, max_step: { relative: 0.05 }, kpi_required: true }), ...rule({ max_step: { absolute: 2, hours: 1 }, unit: "EUR" })],
    { forbidden_targets: ["price.*"] },
  ); // prettier-ignore
  expect(describeRules(intent)).toEqual(
    expect.arrayContaining([
      'a value of price.* must match {"type":"number"}',
      "a value of price.* may differ by 0.05 of it at most from what the target held 24 hours before; a first value is not minor",
      "a value of price.* may differ by 2 EUR at most from what the target held 1 hour before; a first value is not minor",
      "a change of price.* must name the KPI that it is to move",
    ]),
  );
  expect(findContradictions(intent, 0)).toContain(
    "policy.targets.0.match.0 price.* has no effect: forbidden_targets covers it",
  );
});
