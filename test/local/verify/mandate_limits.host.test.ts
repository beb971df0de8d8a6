/**
 * Both verifiers, `countersign-verify` and docs/verify_audit.py, accept the same values and narrowings for schemas of a mandate's
 * limits as the service.
 */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { findWiderKeyword } from "../../../lib/changes/rules/schema_narrow.ts";
import { type ValueSchema, valueSchema } from "../../../lib/changes/rules/value_schema.ts";
import { validateValue } from "../../../lib/changes/validate_value.ts";
import { matchesSchema } from "../../../local/verify/schema.ts";
import { areLimitsNarrower } from "../../../local/verify/schema_narrow.ts";
import { dice } from "../../support/dice.ts";

const DRIVER = `
import json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "docs")
import verify_audit
matched, narrowed = verify_audit.parse_json(sys.stdin.read())
print(json.dumps([
    [verify_audit.matches_schema(*one) for one in matched],
    [verify_audit.are_limits_narrower({"schema": before}, {"schema": after}) for before, after in narrowed],
]))
`;

/** Runs docs/verify_audit.py; returns which values match their schemas, and which schemas narrow those before them. */
function python(matched: readonly unknown[], narrowed: readonly unknown[]): [boolean[], boolean[]] {
  const { stdout, stderr } = spawnSync("python3", ["-c", DRIVER], {
    encoding: "utf8",
    input: JSON.stringify([matched, narrowed]),
  });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as [boolean[], boolean[]];
}

const VALUES: readonly unknown[] = [
  ...[0, -0, 1, 2, 2.5, 0.3, -1, 1e21, 1e308, 5e-324, 100, 2 ** 53],
  ...["", "a", "ab", "10", "é", "😀", "a\nb", "abc1", "a-b", "٣"],
  ...[true, false, null],
  ...[[], [1], [1, 1], [1, 2, "x"], [[1], [1]], [true, 1]],
  ...[{}, { a: 1 }, { a: "x", b: 2 }, { b: null }, { c: { a: 1 } }],
];

/** Returns `count` random schemas that the service accepts as limits of a mandate. */
function schemas(seed: number, count: number): ValueSchema[] {
  const roll = dice(seed);
  const pick = <T>(list: readonly T[]): T => list[roll(list.length)]!;
  const maybe = (part: object): object => (roll(3) === 0 ? part : {});
  const make = (depth: number): ValueSchema => {
    const type = pick(["string", "number", "integer", "boolean", "object", "array", "null"] as const);
    const parts: Record<string, () => object> = {
      string: () => ({
        ...maybe({ minLength: roll(3) }),
        maxLength: 1 + roll(4),
        ...maybe({ pattern: pick(["^a$", "^[a-z]{1,3}$", "^[^\\d]{1,4}$", "^\\w{2}[-/]{0,1}$", "^[a\\]\\-]b$"]) }),
      }),
      number: () => ({
        ...maybe({ minimum: roll(3) - 1 }),
        ...maybe({ exclusiveMaximum: 3 + roll(100) }),
        ...maybe({ multipleOf: pick([1, 0.1, 0.5, 1e-3]) }),
      }),
      array: () => ({
        ...maybe({ minItems: roll(2) }),
        maxItems: 2 + roll(3),
        ...maybe({ uniqueItems: roll(2) === 0 }),
        ...(depth > 0 ? maybe({ items: make(depth - 1) }) : {}),
      }),
      object: () => ({
        ...(depth > 0 ? maybe({ properties: { a: make(depth - 1), ...maybe({ b: make(depth - 1) }) } }) : {}),
        ...maybe({ required: [pick(["a", "b"])] }),
        ...maybe({ additionalProperties: depth > 0 && roll(2) === 0 ? make(depth - 1) : roll(2) === 0 }),
      }),
    };
    const types = roll(4) === 0 ? [type, pick(["null", "boolean"] as const)] : type;
    const listed = roll(6) === 0 ? { enum: [pick(VALUES), pick(VALUES)] } : {};
    return { type: types, ...parts[type === "integer" ? "number" : type]?.(), ...listed } as ValueSchema;
  };
  const found: ValueSchema[] = [];
  while (found.length < count) {
    const { success, data } = valueSchema().safeParse(make(2));
    if (success) found.push(JSON.parse(JSON.stringify(data)) as ValueSchema);
  }
  return found;
}

/** Returns the schema with at most one part changed. */
function changed(schema: ValueSchema, roll: (below: number) => number): ValueSchema {
  const keys = Object.keys(schema) as (keyof ValueSchema)[];
  const key = keys[roll(keys.length)]!;
  const value: unknown = schema[key];
  if (roll(4) === 0) return { ...schema, [key]: undefined };
  if (key === "multipleOf") return { ...schema, multipleOf: 2 * schema.multipleOf! };
  if (typeof value === "number") return { ...schema, [key]: value + roll(3) - 1 };
  if (key === "additionalProperties") return { ...schema, [key]: roll(2) === 0 };
  if (key === "type") return { ...schema, type: ["number", "null"] };
  if (key === "properties")
    return { ...schema, properties: { ...(value as object), c: { type: "number" } } as Record<string, ValueSchema> };
  return schema;
}

/** Removes the undefined members, as JSON does. */
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

test("both verifiers accept the same values and narrowings as the service", () => {
  const roll = dice(7);
  const made = schemas(3, 250);
  const matched = made.flatMap((schema) => [0, 1, 2, 3].map(() => [schema, VALUES[roll(VALUES.length)]] as const));
  const narrowed = made.flatMap((schema, index) => [
    [schema, plain(changed(schema, roll))] as const,
    [schema, made[(index + 1) % made.length]!] as const,
    [schema, schema] as const,
  ]);
  const service = [
    matched.map(([schema, value]) => validateValue(schema, value) === undefined),
    narrowed.map(([before, after]) => findWiderKeyword(before, after) === undefined),
  ];
  const typescript = [
    matched.map(([schema, value]) => matchesSchema(schema, value)),
    narrowed.map(([before, after]) => areLimitsNarrower({ schema: before }, { schema: after })),
  ];
  const differing = (other: readonly boolean[][], cases: readonly unknown[][][]) =>
    service.flatMap((all, kind) =>
      all.flatMap((isAccepted, at) => (isAccepted === other[kind]![at] ? [] : [cases[kind]![at]])),
    );
  const cases = [matched, narrowed] as unknown as unknown[][][];
  expect(differing(typescript, cases)).toEqual([]);
  expect(differing(python(matched, narrowed), cases)).toEqual([]);
  // Both results occur, so that the comparison can fail.
  for (const all of service) expect(new Set(all)).toEqual(new Set([true, false]));
});

test("a schema that the service rejects matches nothing, even if its pattern would run long", () => {
  const hostile: [unknown, unknown][] = [
    [{ type: "string", pattern: "^(a+)+$" }, "a"],
    [{ type: "string", pattern: "a" }, "a"],
    [{ type: "string", pattern: "^[a-z]{1,9}[a-z]{1,9}[a-z]{1,9}$" }, "abc"],
    [{ type: "string", pattern: "^[z-a]$" }, "a"],
    [{ type: "string", pattern: "^a$" }, "a".repeat(300)],
    [{ format: "email" }, "a"],
    [{ maximum: "9" }, 1],
    [{ type: 1 }, 1],
    [[], 1],
    [null, null],
  ];
  const expected = hostile.map(() => false);
  expect(hostile.map(([schema, value]) => matchesSchema(schema, value))).toEqual(expected);
  expect(python(hostile, [])[0]).toEqual(expected);
});
