/** Tests the verifier's schemas of values: a known keyword matches the values it allows, a malformed or unknown one nothing. */
import { expect, test } from "vitest";
import { areValuesAllowed, matchesSchema } from "../../../local/verify/schema.ts";
import { areLimitsNarrower } from "../../../local/verify/schema_narrow.ts";

const KEYWORDS: readonly (readonly [schema: unknown, matching: readonly unknown[], other: readonly unknown[]])[] = [
  [5, [], [5]],
  [{}, [5, null, "a"], []],
  [{ unknown: 1 }, [], [5]],
  [{ type: "string" }, ["", "a"], [5, null]],
  [{ type: "number" }, [5, 0.5], ["5"]],
  [{ type: "integer" }, [5, 5.0], [0.5, "5"]],
  [{ type: "boolean" }, [true, false], [0]],
  [{ type: "object" }, [{}], [[], null]],
  [{ type: "array" }, [[]], [{}]],
  [{ type: "null" }, [null], [0]],
  [{ type: ["null", "string"] }, [null, "a"], [0]],
  [{ type: [5, "toString"] }, [], [5]],
  [{ enum: [1, { b: 1, a: 2 }] }, [1, { a: 2, b: 1 }], [2, "1"]],
  [{ enum: 5 }, [], [5]],
  [{ const: null }, [null], [0]],
  [{ minimum: 1 }, [1, 2, "0"], [0]],
  [{ minimum: "1" }, [], [2]],
  [{ maximum: 1 }, [1, 0], [2]],
  [{ exclusiveMinimum: 1 }, [2], [1]],
  [{ exclusiveMaximum: 1 }, [0], [1]],
  [{ multipleOf: 0.1 }, [0.3, 1], [0.35]],
  [{ multipleOf: 0 }, [], [0]],
  [{ multipleOf: -1 }, [], [1]],
  [{ minLength: 2 }, ["ab", "😀a", 5], ["a", "😀"]],
  [{ maxLength: 1 }, ["", "😀"], ["ab"]],
  [{ maxLength: -1 }, [], [""]],
  [{ minLength: "1" }, [], ["ab"]],
  // A pattern must be anchored, with at most two ranges `{n,m}`, and matches texts of at most 256 characters.
  [{ pattern: "^a{1,2}$" }, ["a", "aa", 5], ["", "aaa", "ba"]],
  [{ pattern: "a" }, [], ["a"]],
  [{ pattern: 5 }, [], ["5"]],
  [{ pattern: "^[a-z]$" }, ["a"], ["A"]],
  [{ pattern: "^[z-a]$" }, [], ["z"]],
  [{ pattern: "^[^b]{300}$" }, [], ["a".repeat(300)]],
  [{ pattern: "^[^b]{256}$" }, ["a".repeat(256)], []],
  [{ pattern: "^a{1,2}b{1,2}$" }, ["ab"], []],
  [{ pattern: "^a{1,2}b{1,2}c{1,2}$" }, [], ["abc"]],
  [{ items: { type: "string" } }, [[], ["a"], "a"], [["a", 5]]],
  [{ minItems: 1 }, [[5], "a"], [[]]],
  [{ maxItems: 1 }, [[5]], [[5, 5]]],
  [
    { uniqueItems: true },
    [[1, 2], "a"],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
  ],
  [{ uniqueItems: false }, [[1, 1]], []],
  [{ properties: { a: { type: "string" } } }, [{}, { a: "x", b: 5 }, 5], [{ a: 5 }]],
  [{ properties: 5 }, [], [{}]],
  [{ properties: { toString: { type: "string" } } }, [{}], []],
  [{ required: ["a"] }, [{ a: null }, 5], [{}, { b: 1 }]],
  [{ required: ["a", 5] }, [], [{ a: 1, 5: 1 }]],
  [{ required: "a" }, [], [{ a: 1 }]],
  [{ required: ["toString"] }, [], [{}]],
  [{ additionalProperties: true }, [{ a: 1 }], []],
  [{ additionalProperties: false }, [{}, 5], [{ a: 1 }]],
  [{ additionalProperties: { type: "string" }, properties: { a: {} } }, [{ a: 5 }, { b: "x" }], [{ a: 1, b: 5 }]],
  [{ additionalProperties: false, properties: {} }, [{}], [{ toString: 1 }]],
  [{ additionalProperties: false, properties: 5 }, [], [{ a: 1 }]],
];

test.each(KEYWORDS)("the schema %j matches %j and not %j", (schema, matching, others) => {
  expect(matching.filter((value) => !matchesSchema(schema, value))).toEqual([]);
  expect(others.filter((value) => matchesSchema(schema, value))).toEqual([]);
});

/** Returns a value that is split among users: each share is a name, a value and a size. */
const split = (shares: unknown, more: object = {}) => ({ $split: { shares }, ...more });

test.each<[string, unknown[], boolean]>([
  ["a value", [{ value: 5 }], true],
  ["two values", [{ value: 5 }, { value: "a" }], false],
  ["an entry that is no object", [5], false],
  [
    "a split",
    [
      {
        value: split([
          ["a", 5, 1],
          ["b", 6, 1],
        ]),
      },
    ],
    true,
  ],
  [
    "a split with another value",
    [
      {
        value: split([
          ["a", 5, 1],
          ["b", "x", 1],
        ]),
      },
    ],
    false,
  ],
  ["a split of one", [{ value: split([["a", 5, 1]]) }], false],
  [
    "a split of pairs",
    [
      {
        value: split([
          ["a", 5],
          ["b", 6],
        ]),
      },
    ],
    false,
  ],
  ["a split of which one is no share", [{ value: split([["a", 5, 1], 6]) }], false],
  [
    "a split with another member",
    [
      {
        value: split(
          [
            ["a", 5, 1],
            ["b", 6, 1],
          ],
          { a: 1 },
        ),
      },
    ],
    false,
  ],
  ["a split without shares", [{ value: { $split: 5 } }], false],
])("the values of %s are allowed, or not", (_, sets, expected) => {
  expect(areValuesAllowed(sets, { type: "integer" })).toBe(expected);
});

/** Limits before and after a narrowing, and whether the second allow no more than the first. */
const NARROWED: readonly (readonly [before: unknown, after: unknown, isNarrow: boolean])[] = [
  [undefined, {}, true],
  [undefined, 5, false],
  [5, {}, false],
  [{}, {}, true],
  [{ unit: "EUR" }, { unit: "EUR" }, true],
  [{ unit: "EUR" }, {}, false],
  [{ schema: { minimum: 1 } }, {}, false],
  [{}, { schema: { minimum: 1 } }, true],
  // The same step over more hours is stricter.
  [{ max_step: { absolute: 1, hours: 1 } }, {}, false],
  [{ max_step: { absolute: 1, hours: 1 } }, { max_step: { absolute: 1, hours: 1 } }, true],
  [{ max_step: { absolute: 1, hours: 1 } }, { max_step: { absolute: 2, hours: 1 } }, false],
  [{ max_step: { absolute: 1, hours: 2 } }, { max_step: { absolute: 1, hours: 1 } }, false],
  [{ max_step: { absolute: 1, hours: 1 } }, { max_step: { absolute: 1, relative: 1, hours: 1 } }, false],
  [{ max_step: { relative: 1, hours: 1 } }, { max_step: { relative: 1, hours: 2 } }, true],
  [{ max_step: { relative: 1, hours: 1 } }, { max_step: { relative: 2, hours: 1 } }, false],
  [{ max_step: { absolute: 1, hours: "1" } }, { max_step: { absolute: 1, hours: 1 } }, false],
  [{ max_step: { absolute: 1, hours: 1 } }, { max_step: 5 }, false],
  [{ max_step: 5 }, { max_step: { absolute: 1, hours: 1 } }, false],
  // `members` of an object whose steps are bounded: more of them are stricter, but a narrowing neither adds nor drops the list.
  ...(
    [
      [undefined, undefined, true],
      [undefined, ["a"], false],
      [["a"], undefined, false],
      [["a"], ["b", "a"], true],
      [["a", "b"], ["b"], false],
      // No lists.
      ["a", "a", false],
    ] as const
  ).map(([before, after, isNarrow]) => {
    const step = (members: unknown) => ({
      max_step: { absolute: 1, hours: 1, ...(members !== undefined && { members }) },
    });
    return [step(before), step(after), isNarrow] as const;
  }),
  ...(
    [
      [5, {}, false],
      [{}, 5, false],
      [{ unknown: 1 }, { unknown: 1 }, false],
      [{ type: "string" }, { type: "integer" }, false],
      [{ enum: 1 }, { enum: [1] }, false],
      [{ enum: [1] }, { enum: 1 }, false],
      [{ minimum: "1" }, { minimum: 2 }, false],
      [{ minimum: 1 }, { minimum: "2" }, false],
      [{ multipleOf: 0 }, { multipleOf: 0 }, false],
      [{ multipleOf: 1 }, { multipleOf: 0 }, false],
      [{ multipleOf: -1 }, { multipleOf: 1 }, false],
      [{ required: "a" }, { required: ["a"] }, false],
      [{ required: ["a"] }, { required: "a" }, false],
      [{ properties: 5 }, { properties: {} }, false],
      [{ properties: {} }, { properties: 5 }, false],
      // Anything is at least as strict as no restriction.
      [{ additionalProperties: true }, { additionalProperties: 5 }, true],
      [{ additionalProperties: 5 }, { additionalProperties: 5 }, false],
      [
        { additionalProperties: false, properties: { a: {} } },
        { additionalProperties: false, properties: { a: {} } },
        true,
      ],
      [
        { additionalProperties: false, properties: { a: {} } },
        { additionalProperties: false, properties: { a: {}, b: {} } },
        false,
      ],
      [
        { additionalProperties: false, properties: {} },
        { additionalProperties: false, properties: { toString: {} } },
        false,
      ],
    ] as const
  ).map(([before, after, isNarrow]) => [{ schema: before }, { schema: after }, isNarrow] as const),
];

test.each(NARROWED)("of limits %j and %j the second allow no more: %s", (before, after, isNarrow) => {
  expect(areLimitsNarrower(before, after)).toBe(isNarrow);
});
