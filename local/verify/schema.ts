/** Values against the schema of a mandate's limits: the closed part of JSON Schema that an intent may have. */
import { isObject, isWhole } from "./json.ts";
import { canonicalText } from "./mandate_statement.ts";
import { isWholeMultiple } from "./multiple.ts";
import { isCount } from "./plan.ts";

/** Checks that a value is of the type that a keyword is about; any other value matches the keyword. */
type IsAbout = (value: unknown) => boolean;
type Matches = (stated: unknown, value: never, schema: Schema) => boolean;
type Schema = Readonly<Record<string, unknown>>;

const anything: IsAbout = () => true;
const isText: IsAbout = (value) => typeof value === "string";
const lengthOf = (text: string): number => [...text].length;

const TYPES: Readonly<Record<string, IsAbout>> = {
  string: isText,
  number: isCount,
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  object: isObject,
  array: Array.isArray,
  null: (value) => value === null,
};

/** A pattern that every engine decides in a moment; others match nothing. */
const PATTERN =
  /^\^(?:(?:\[\^?(?:[^\][\\^-]|\\[\\\][^$.*+?(){}|/-]|\\[dw]|-)+\]|\\(?:[\\^$.*+?()[\]{}|/]|[dw])|[^\\^$.*+?()[\]{}|])(?:\{\d{1,3}(?:,\d{1,3})?\})?)*\$$/u;
const MAX_RANGES = 2;
const MAX_PATTERN_LENGTH = 256;

function matchesPattern(pattern: unknown, text: string): boolean {
  if (typeof pattern !== "string" || !PATTERN.test(pattern) || lengthOf(text) > MAX_PATTERN_LENGTH) return false;
  if ((pattern.match(/\{\d+,\d+\}/g) ?? []).length > MAX_RANGES) return false;
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return false;
  }
}

const among = (list: unknown, value: unknown): boolean =>
  Array.isArray(list) && list.some((one) => canonicalText(one) === canonicalText(value));
const bound = (holds: (limit: number, value: number) => boolean): [IsAbout, Matches] => [
  isCount,
  (limit, value) => isCount(limit) && holds(limit, value),
];
const size = (about: IsAbout, sizeOf: (value: never) => number, sign: 1 | -1): [IsAbout, Matches] => [
  about,
  (limit, value) => isWhole(limit, 0) && sign * (sizeOf(value) - limit) >= 0,
];
const own = (members: unknown, name: string): unknown =>
  isObject(members) && Object.hasOwn(members, name) ? members[name] : undefined;

const KEYWORDS: ReadonlyMap<string, [IsAbout, Matches]> = new Map<string, [IsAbout, Matches]>([
  [
    "type",
    [
      anything,
      (types, value) =>
        (Array.isArray(types) ? types : [types]).some(
          (one) => typeof one === "string" && Object.hasOwn(TYPES, one) && TYPES[one]!(value),
        ),
    ],
  ],
  ["enum", [anything, among]],
  ["const", [anything, (only, value) => among([only], value)]],
  ["minimum", bound((limit, value) => value >= limit)],
  ["maximum", bound((limit, value) => value <= limit)],
  ["exclusiveMinimum", bound((limit, value) => value > limit)],
  ["exclusiveMaximum", bound((limit, value) => value < limit)],
  ["multipleOf", bound((factor, value) => factor > 0 && isWholeMultiple(value, factor))],
  ["minLength", size(isText, lengthOf, 1)],
  ["maxLength", size(isText, lengthOf, -1)],
  ["pattern", [isText, matchesPattern]],
  ["items", [Array.isArray, (schema, value: unknown[]) => value.every((one) => matchesSchema(schema, one))]],
  ["minItems", size(Array.isArray, ({ length }: unknown[]) => length, 1)],
  ["maxItems", size(Array.isArray, ({ length }: unknown[]) => length, -1)],
  [
    "uniqueItems",
    [Array.isArray, (is, value: unknown[]) => is === false || new Set(value.map(canonicalText)).size === value.length],
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
        Object.keys(value).every((name) => own(properties, name) !== undefined || matchesSchema(others, value[name])),
    ],
  ],
]);

/** Checks that a value matches a schema; a keyword that no service knows matches nothing. */
export function matchesSchema(schema: unknown, value: unknown): boolean {
  if (!isObject(schema)) return false;
  return Object.keys(schema).every((keyword) => {
    const [isAbout, matches] = KEYWORDS.get(keyword) ?? [anything, () => false];
    return !isAbout(value) || matches(schema[keyword], value as never, schema);
  });
}

/** Checks that each value of a change matches a schema; of a split those of its shares. */
export const areAllowed = (sets: readonly unknown[], schema: unknown): boolean =>
  sets.every((one) => isObject(one) && sharesOf(one["value"]).every((value) => matchesSchema(schema, value)));

/** Returns the values of the shares of a split; of any other value itself. */
function sharesOf(value: unknown): unknown[] {
  const split = isObject(value) && Object.keys(value).length === 1 ? value["$split"] : undefined;
  const shares = isObject(split) ? split["shares"] : undefined;
  const isSplit =
    Array.isArray(shares) && shares.length > 1 && shares.every((one) => Array.isArray(one) && one.length === 3);
  return isSplit ? shares.map((one: unknown[]) => one[1]) : [value];
}
