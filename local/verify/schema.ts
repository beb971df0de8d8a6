/** Validates values against the schema of a mandate's limits: the subset of JSON Schema that an intent may use. */
import { isObject, isIntegerAtLeast } from "./json.ts";
import { canonicalText } from "./mandate_statement.ts";
import { isMultiple } from "./multiple.ts";
import { isFiniteNumber } from "./rollout_plan.ts";

/** Checks that a keyword applies to a value's type; a value of any other type matches the keyword. */
type AppliesTo = (value: unknown) => boolean;
/** Checks a value against the argument of a keyword. */
type Matches = (stated: unknown, value: never, schema: Schema) => boolean;
type Schema = Readonly<Record<string, unknown>>;

const isAnything: AppliesTo = () => true;
const isText: AppliesTo = (value) => typeof value === "string";
const countCharacters = (text: string): number => [...text].length;

const TYPES: Readonly<Record<string, AppliesTo>> = {
  string: isText,
  number: isFiniteNumber,
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  object: isObject,
  array: Array.isArray,
  null: (value) => value === null,
};

/**
 * Patterns that every engine matches in linear time; any other pattern matches no value. Between `^` and `$`, a pattern is a
 * sequence of character classes, escapes and plain characters, each with an optional count `{n}` or range `{n,m}`.
 */
const PATTERN =
  /^\^(?:(?:\[\^?(?:[^\][\\^-]|\\[\\\][^$.*+?(){}|/-]|\\[dw]|-)+\]|\\(?:[\\^$.*+?()[\]{}|/]|[dw])|[^\\^$.*+?()[\]{}|])(?:\{\d{1,3}(?:,\d{1,3})?\})?)*\$$/u;
/** Maximum number of ranges `{n,m}` in a pattern. */
const MAX_RANGES = 2;
/** Maximum length of a text that is matched with a pattern; a longer one matches none. */
const MAX_MATCHED_LENGTH = 256;

function matchesPattern(pattern: unknown, text: string): boolean {
  if (typeof pattern !== "string" || !PATTERN.test(pattern) || countCharacters(text) > MAX_MATCHED_LENGTH) return false;
  if ((pattern.match(/\{\d+,\d+\}/g) ?? []).length > MAX_RANGES) return false;
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return false;
  }
}

const isListed = (list: unknown, value: unknown): boolean =>
  Array.isArray(list) && list.some((one) => canonicalText(one) === canonicalText(value));
const numberKeyword = (holds: (limit: number, value: number) => boolean): [AppliesTo, Matches] => [
  isFiniteNumber,
  (limit, value) => isFiniteNumber(limit) && holds(limit, value),
];
/** Creates a bound of a size: a minimum with `sign` 1, a maximum with -1. */
const sizeKeyword = (appliesTo: AppliesTo, sizeOf: (value: never) => number, sign: 1 | -1): [AppliesTo, Matches] => [
  appliesTo,
  (limit, value) => isIntegerAtLeast(limit, 0) && sign * (sizeOf(value) - limit) >= 0,
];
const getMember = (members: unknown, name: string): unknown =>
  isObject(members) && Object.hasOwn(members, name) ? members[name] : undefined;

const KEYWORDS: ReadonlyMap<string, [AppliesTo, Matches]> = new Map<string, [AppliesTo, Matches]>([
  [
    "type",
    [
      isAnything,
      (types, value) =>
        (Array.isArray(types) ? types : [types]).some(
          (one) => typeof one === "string" && Object.hasOwn(TYPES, one) && TYPES[one]!(value),
        ),
    ],
  ],
  ["enum", [isAnything, isListed]],
  ["const", [isAnything, (only, value) => isListed([only], value)]],
  ["minimum", numberKeyword((limit, value) => value >= limit)],
  ["maximum", numberKeyword((limit, value) => value <= limit)],
  ["exclusiveMinimum", numberKeyword((limit, value) => value > limit)],
  ["exclusiveMaximum", numberKeyword((limit, value) => value < limit)],
  ["multipleOf", numberKeyword((factor, value) => factor > 0 && isMultiple(value, factor))],
  ["minLength", sizeKeyword(isText, countCharacters, 1)],
  ["maxLength", sizeKeyword(isText, countCharacters, -1)],
  ["pattern", [isText, matchesPattern]],
  ["items", [Array.isArray, (schema, value: unknown[]) => value.every((one) => matchesSchema(schema, one))]],
  ["minItems", sizeKeyword(Array.isArray, ({ length }: unknown[]) => length, 1)],
  ["maxItems", sizeKeyword(Array.isArray, ({ length }: unknown[]) => length, -1)],
  [
    "uniqueItems",
    [
      Array.isArray,
      (stated, value: unknown[]) => stated === false || new Set(value.map(canonicalText)).size === value.length,
    ],
  ],
  [
    "properties",
    [
      isObject,
      (schemas, value: Schema) =>
        isObject(schemas) &&
        Object.keys(schemas).every((name) => !Object.hasOwn(value, name) || matchesSchema(schemas[name], value[name])),
    ],
  ],
  [
    "required",
    [
      isObject,
      (names, value: Schema) =>
        Array.isArray(names) && names.every((name) => typeof name === "string" && Object.hasOwn(value, name)),
    ],
  ],
  [
    "additionalProperties",
    [
      isObject,
      (others, value: Schema, { properties }) =>
        others === true ||
        Object.keys(value).every(
          (name) => getMember(properties, name) !== undefined || matchesSchema(others, value[name]),
        ),
    ],
  ],
]);

/** Checks that a value matches a schema; a schema with an unknown keyword matches no value. */
export function matchesSchema(schema: unknown, value: unknown): boolean {
  if (!isObject(schema)) return false;
  return Object.keys(schema).every((keyword) => {
    const [appliesTo, matches] = KEYWORDS.get(keyword) ?? [isAnything, () => false];
    return !appliesTo(value) || matches(schema[keyword], value as never, schema);
  });
}

/** Checks that each value of a change matches a schema; for a split, the values of its shares. */
export const areValuesAllowed = (sets: readonly unknown[], schema: unknown): boolean =>
  sets.every((one) => isObject(one) && listShareValues(one["value"]).every((value) => matchesSchema(schema, value)));

/** Lists the values of the shares of a split, each `[name, value, size]`; any other value is listed itself. */
function listShareValues(value: unknown): unknown[] {
  const split = isObject(value) && Object.keys(value).length === 1 ? value["$split"] : undefined;
  const shares = isObject(split) ? split["shares"] : undefined;
  const isSplit =
    Array.isArray(shares) && shares.length > 1 && shares.every((one) => Array.isArray(one) && one.length === 3);
  return isSplit ? shares.map((one: unknown[]) => one[1]) : [value];
}
