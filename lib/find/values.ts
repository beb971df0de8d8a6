/** Parses the values of terms into tests that run on each change. */
import { invalidField } from "../kit/errors.ts";
import { findNearest } from "../kit/nearest.ts";
import { isListedName } from "../changes/rules/names.ts";
import { matchesPattern } from "../changes/rules/target_pattern.ts";
import { RESOLUTIONS } from "../changes/rules/change.ts";
import { DATE_FORMS, parseSpan } from "./dates.ts";
import { type Context, type Field, type FieldName, VALUE_ALIASES } from "./fields.ts";
import type { Row } from "./row.ts";
import type { Part } from "./split.ts";

/** Moment and time zone by which dates are read. */
export type Moment = Pick<Context, "now" | "zone">;

/** The test of a term's value on a change. */
export interface ValueTest {
  /** The value in the normalised query. */
  text: string;
  holds(row: Row, context: Context): boolean;
  /** Names that must be known to the records or the intent. */
  names?: readonly string[] | undefined;
  /** Tests one moment; present for dates. */
  holdsAt?: ((ms: number) => boolean) | undefined;
}

/** Parses the value of a term. Errors: 400 `invalid_field` q with the nearest known value. */
export function parseTest(name: FieldName, field: Field, part: Part, moment: Moment): ValueTest {
  const value = part.value.trim();
  if (value === "") throw invalidField("q", `${name}: needs a value${describeValues(field)}`);
  if (value === "*" && field.type !== "is")
    return { text: "*", holds: (row, context) => [readField(field, row, context)].flat().some((one) => one !== null) };
  switch (field.type) {
    case "words":
    case "is": {
      const words = splitAlternatives(part).map((one) => parseWord(name, one, field.values));
      const holds = (row: Row, context: Context): boolean =>
        field.type === "is"
          ? words.some((word) => field.is(row, word, context))
          : field.of(row, context).some((one) => words.includes(one));
      return { text: words.join(","), holds };
    }
    case "number":
      return combineAlternatives(splitAlternatives(part).map((one) => createNumberTest(name, field, one)));
    case "date":
      return combineAlternatives(splitAlternatives(part).map((one) => createDateTest(name, field, one, moment)));
    default:
      return createTextTest(field, part);
  }
}

/** Combines the tests of alternatives, one of which must match. */
function combineAlternatives(tests: readonly ValueTest[]): ValueTest {
  const [first, ...more] = tests;
  if (first && more.length === 0) return first;
  return {
    text: tests.map(({ text }) => text).join(","),
    holds: (row, context) => tests.some((test) => test.holds(row, context)),
    holdsAt: (ms) => tests.some((test) => test.holdsAt?.(ms)),
  };
}

const readField = (
  field: Exclude<Field, { type: "is" }>,
  row: Row,
  context: Context,
): string | number | null | readonly string[] => field.of(row, context);

/** Splits a value into its alternatives at commas; a value in quotes is a single one. */
const splitAlternatives = ({ value, isQuoted }: Part): string[] =>
  (isQuoted ? [value] : value.split(",")).map((one) => one.trim()).filter((one) => one !== "");

function parseWord(name: string, text: string, known: readonly string[]): string {
  const lower = text.toLowerCase().replaceAll("-", "_");
  const aliases = new Map(Object.entries(VALUE_ALIASES[name] ?? {}));
  const word = aliases.get(lower.replaceAll("_", "")) ?? aliases.get(lower) ?? lower;
  if (known.includes(word)) return word;
  if (name === "is" && (RESOLUTIONS as readonly string[]).includes(word))
    throw invalidField("q", `is: has no value ${text}: did you mean resolution:${word}?`);
  const spellings = [...known, ...aliases.keys()];
  throw invalidField(
    "q",
    `${name}: has no value ${text}: did you mean ${findNearest(word, spellings)}? Its values are ${known.join(", ")}`,
  );
}

const describeValues = (field: Field): string =>
  "values" in field ? `: one of ${field.values.join(", ")}` : field.type === "date" ? `: ${DATE_FORMS}` : "";

function createTextTest(field: Extract<Field, { of(row: Row): readonly string[] }>, part: Part): ValueTest {
  const values = splitAlternatives(part);
  const same =
    field.type === "pattern"
      ? (one: string) => values.some((value) => matchesPattern(one, value))
      : field.type === "names"
        ? (one: string) => listShortNames(one).some((name) => isListedName(name, values))
        : (one: string) => values.includes(one);
  const text = values.map((value) => (/[\s",]/.test(value) ? `"${value}"` : value)).join(",");
  const isVerifiedActor = field.type === "names" || field.type === "text";
  return {
    text,
    holds: (row) => (field.of as (row: Row) => readonly string[])(row).some(same),
    ...(isVerifiedActor && { names: values }),
  };
}

/** Lists the spellings by which a person or an agent is found: the full name, the part before `@`, and the part after `agent:` or `llm:`. */
export const listShortNames = (name: string): string[] => [
  name,
  ...(/^([^@]+)@/.exec(name)?.slice(1) ?? []),
  ...(/^(?:agent|llm):(.+)$/.exec(name)?.slice(1) ?? []),
];

const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

function createNumberTest(name: string, field: Extract<Field, { type: "number" }>, value: string): ValueTest {
  const read = (text: string, open: number): number => {
    if (text === "") return open;
    if (NUMBER.test(text)) return Number(text);
    throw invalidField("q", `${name}: must be a number, or a range such as >100, <100 or 10..100; not ${value}`);
  };
  const { sign, from, to } = parseRange(value);
  const [low, high] = [read(from, -Infinity), read(to, Infinity)];
  // A sign without a number is the same error as a value that is no number.
  if (sign !== "" && from === "") read("?", 0);
  const isInRange =
    sign === ">"
      ? (n: number) => n > low
      : sign === "<"
        ? (n: number) => n < low
        : (n: number) => n >= low && n <= high;
  return {
    text: value,
    holds: (row) => {
      const own = field.of(row);
      return own !== null && isInRange(own);
    },
  };
}

function createDateTest(
  name: string,
  field: Extract<Field, { type: "date" }>,
  value: string,
  { now, zone }: Moment,
): ValueTest {
  const read = (text: string) => {
    if (text === "") return { from: -Infinity, to: Infinity };
    const span = parseSpan(text, now, zone);
    if (!span) throw invalidField("q", `${name}: must be ${DATE_FORMS}, or a range such as >2026-10-01; not ${value}`);
    return span;
  };
  const { sign, from, to } = parseRange(value);
  if (sign !== "" && from === "") throw invalidField("q", `${name}: needs a date after ${sign}`);
  const [first, last] = [read(from), read(to)];
  const [begin, end] =
    sign === ">" ? [first.to, Infinity] : sign === "<" ? [-Infinity, first.from] : [first.from, last.to];
  const holdsAt = (ms: number): boolean => ms >= begin && ms < end;
  return {
    text: value
      .toLowerCase()
      .replace(/t(?=\d\d:)/g, "T")
      .replace(/z(?=$|\.\.)/g, "Z")
      .replace(/-w(?=\d\d)/g, "-W"),
    holds: (row, context) => field.of(row, context).some((time) => holdsAt(Date.parse(time))),
    holdsAt,
  };
}

/** Parses a range; a single value is both its beginning and its end. */
function parseRange(value: string): { sign: "" | ">" | "<"; from: string; to: string } {
  const sign = value[0] === ">" || value[0] === "<" ? value[0] : "";
  if (sign !== "") return { sign, from: value.slice(1), to: "" };
  const at = value.indexOf("..");
  return at === -1 ? { sign, from: value, to: value } : { sign, from: value.slice(0, at), to: value.slice(at + 2) };
}
