/** The schema that a value must match: a closed subset of JSON Schema 2020-12, as an intent states it. */
import * as z from "zod";
import { canonicalJson } from "../../kit/canonical_json.ts";
import { once } from "../../kit/once.ts";
import { list, strictObject } from "./fields.ts";
import { integer, finiteNumber } from "./intent_parts.ts";
import { findPatternProblem } from "./value_pattern.ts";

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"] as const;
type Type = (typeof TYPES)[number];

/** A schema; without keywords, every value matches. */
export interface ValueSchema {
  type?: Type | Type[] | undefined;
  enum?: unknown[] | undefined;
  const?: unknown;
  minimum?: number | undefined;
  maximum?: number | undefined;
  exclusiveMinimum?: number | undefined;
  exclusiveMaximum?: number | undefined;
  multipleOf?: number | undefined;
  minLength?: number | undefined;
  maxLength?: number | undefined;
  pattern?: string | undefined;
  items?: ValueSchema | undefined;
  minItems?: number | undefined;
  maxItems?: number | undefined;
  uniqueItems?: boolean | undefined;
  properties?: Record<string, ValueSchema> | undefined;
  required?: string[] | undefined;
  additionalProperties?: boolean | ValueSchema | undefined;
}

/** Types of values on which a keyword has an effect; a keyword that is absent here has one on every type. */
const KEYWORD_TYPES: Readonly<Partial<Record<keyof ValueSchema, readonly Type[]>>> = {
  minimum: ["number", "integer"],
  maximum: ["number", "integer"],
  exclusiveMinimum: ["number", "integer"],
  exclusiveMaximum: ["number", "integer"],
  multipleOf: ["number", "integer"],
  minLength: ["string"],
  maxLength: ["string"],
  pattern: ["string"],
  items: ["array"],
  minItems: ["array"],
  maxItems: ["array"],
  uniqueItems: ["array"],
  properties: ["object"],
  required: ["object"],
  additionalProperties: ["object"],
};

/** Limits of a schema, and of the limits that it must state for values with a pattern or unique items. */
const MAX_DEPTH = 8;
const MAX_BYTES = 16 * 1024;
const MAX_PATTERN_LENGTH = 256;
const MAX_UNIQUE_ITEMS = 200;

/** The name of a member; names that every JavaScript object has are rejected. */
export const memberNameSchema = () =>
  z
    .string("must be text")
    .min(1, "must not be empty")
    .refine((name) => !(name in {}), "is a reserved word");

const type = () => z.enum(TYPES, `must be one of ${TYPES.join(", ")}`);

const nestedSchema = once(
  (): z.ZodType<ValueSchema> =>
    strictObject({
      type: z
        .union(
          [type(), list(type()).min(1, "must name a type")],
          `must be one of ${TYPES.join(", ")}, or a list of such`,
        )
        .optional()
        .describe("The type of the value; required with any other keyword."),
      enum: list(z.json()).min(1, "must have a value").optional().describe("The only values that are allowed."),
      const: z.json().optional().describe("The only value that is allowed."),
      minimum: finiteNumber().optional().describe("The least number."),
      maximum: finiteNumber().optional().describe("The greatest number."),
      exclusiveMinimum: finiteNumber().optional().describe("Numbers must be above it."),
      exclusiveMaximum: finiteNumber().optional().describe("Numbers must be below it."),
      multipleOf: finiteNumber()
        .positive("must be above 0")
        .optional()
        .describe("Compared as decimal text: 0.3 is one of 0.1."),
      minLength: integer(0).optional().describe("The fewest characters."),
      maxLength: integer(0).optional().describe("The most characters."),
      pattern: z
        .string("must be text")
        .check(({ value, issues }) => {
          const message = findPatternProblem(value);
          if (message !== undefined) issues.push({ code: "custom", input: value, message });
        })
        .optional()
        .describe("Anchored, without groups, with maxLength of 256 or less."),
      items: z
        .lazy(() => nestedSchema())
        .optional()
        .describe("The schema of each item."),
      minItems: integer(0).optional().describe("The fewest items."),
      maxItems: integer(0).optional().describe("The most items."),
      uniqueItems: z
        .boolean("must be true or false")
        .optional()
        .describe("No two items are equal; with maxItems of 200 or less."),
      properties: z
        .record(
          memberNameSchema(),
          z.lazy(() => nestedSchema()),
          "must be an object",
        )
        .optional()
        .describe("The schemas of members, by name."),
      required: list(memberNameSchema()).optional().describe("Members that must be there."),
      additionalProperties: z
        .union([z.boolean(), z.lazy(() => nestedSchema())])
        .optional()
        .describe("The schema of all other members; false: there are none."),
    }).check(({ value, issues }) => {
      for (const [keyword, message] of listProblems(value as ValueSchema))
        issues.push({ code: "custom", input: value, path: [keyword], message });
    }) as z.ZodType<ValueSchema>,
);

/** The schema of a value, at most 8 deep and of 16 KiB. */
export const valueSchema = () =>
  nestedSchema().check(({ value, issues }) => {
    const report = (message: string) => issues.push({ code: "custom", input: value, message });
    if (measureDepth(value) > MAX_DEPTH) report(`is nested more than ${MAX_DEPTH} deep`);
    if (new TextEncoder().encode(canonicalJson(value)).length > MAX_BYTES) report(`has more than ${MAX_BYTES} bytes`);
  });

export const listTypes = ({ type: stated }: ValueSchema): readonly Type[] | undefined =>
  typeof stated === "string" ? [stated] : stated;

const listNested = ({ items, properties = {}, additionalProperties }: ValueSchema): ValueSchema[] => [
  ...(items ? [items] : []),
  ...Object.values(properties),
  ...(typeof additionalProperties === "object" ? [additionalProperties] : []),
];

const measureDepth = (schema: ValueSchema): number => 1 + Math.max(0, ...listNested(schema).map(measureDepth));

type SchemaProblem = [keyword: keyof ValueSchema, message: string];

/** Lists keywords that have no effect, or that no value can satisfy together. */
function listProblems(schema: ValueSchema): SchemaProblem[] {
  const keywords = (Object.keys(schema) as (keyof ValueSchema)[]).filter((keyword) => schema[keyword] !== undefined);
  const types = listTypes(schema);
  if (types === undefined) return keywords.length > 0 ? [["type", "is required with other keywords"]] : [];
  const { pattern, maxLength, uniqueItems, maxItems, required = [], properties = {}, additionalProperties } = schema;
  const absent = required.filter((name) => additionalProperties === false && !Object.hasOwn(properties, name));
  const allowedValues = [...(schema.enum ?? []), ...("const" in schema ? [schema.const] : [])];
  const mistypedValue = allowedValues.find((value) => !types.some((one) => isOfType(value, one)));
  return [
    ...keywords
      .filter((keyword) => KEYWORD_TYPES[keyword] && !KEYWORD_TYPES[keyword].some((one) => types.includes(one)))
      .map((keyword): SchemaProblem => [keyword, `has no effect on the type ${types.join(", ")}`]),
    ...RANGES.flatMap(([low, high, isOpen]): SchemaProblem[] => {
      const [from, to] = [schema[low] as number | undefined, schema[high] as number | undefined];
      if (from === undefined || to === undefined || from < to || (from === to && !isOpen)) return [];
      return [[high, `leaves no value with ${low} ${from}`]];
    }),
    // An absent limit is undefined, for which every comparison is false.
    ...(pattern !== undefined && !(maxLength! <= MAX_PATTERN_LENGTH)
      ? [["pattern", `needs maxLength of ${MAX_PATTERN_LENGTH} or less`] as SchemaProblem]
      : []),
    ...(uniqueItems && !(maxItems! <= MAX_UNIQUE_ITEMS)
      ? [["uniqueItems", `needs maxItems of ${MAX_UNIQUE_ITEMS} or less`] as SchemaProblem]
      : []),
    ...absent.map((name): SchemaProblem => ["required", `names ${name}, which additionalProperties false excludes`]),
    ...(mistypedValue === undefined
      ? []
      : [
          [
            schema.enum?.includes(mistypedValue) ? "enum" : "const",
            `has a value that is no ${types.join(" or ")}`,
          ] as SchemaProblem,
        ]),
  ];
}

/** Pairs of lower and upper bound; `isOpen`: no value is left if both are equal. */
const RANGES: readonly [low: keyof ValueSchema, high: keyof ValueSchema, isOpen: boolean][] = [
  ["minimum", "maximum", false],
  ["minimum", "exclusiveMaximum", true],
  ["exclusiveMinimum", "maximum", true],
  ["exclusiveMinimum", "exclusiveMaximum", true],
  ["minLength", "maxLength", false],
  ["minItems", "maxItems", false],
];

function isOfType(value: unknown, one: Type): boolean {
  if (one === "null") return value === null;
  if (one === "array") return Array.isArray(value);
  if (one === "integer") return Number.isInteger(value);
  if (one === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === one;
}
