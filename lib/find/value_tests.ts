/** Parses the values of terms into tests that run on each change. */
import { invalidField } from "../kit/errors.ts";
import { findNearest } from "../kit/nearest.ts";
import { isListedName } from "../changes/rules/names.ts";
import { matchesPattern } from "../changes/rules/target_pattern.ts";
import { RESOLUTIONS } from "../changes/rules/change.ts";
import { DATE_FORMS, parseSpan } from "./dates.ts";
import { type Context, type Field, type FieldName, VALUE_ALIASES } from "./fields.ts";
import type { Row } from "./row.ts";
import type { Part } from "./split_query.ts";

/** Current time and time zone, to which dates refer. */
export type Moment = Pick<Context, "now" | "zone">;

/** A test whether a change has the value of a term. */
export interface ValueTest {
  /** The value in the normalised query. */
  text: string;
  holds(row: Row, context: Context): boolean;
  /** Names that must be recorded or in the intent. */
  names?: readonly string[] | undefined;
  /** Tests one moment, in milliseconds; used only for dates. */
  holdsAt?: ((ms: number) => boolean) | undefined;
}

/** Parses the value of a term. Errors: 400 `invalid_field` q with the nearest known value. */
export function parseTest(name: FieldName, field: Field, part: Part, moment: Moment): ValueTest {
  const value = part.value.trim();
  if (value === "") throw invalidField("q", `${name}: needs a value${describeValues(field)}`);
  // `*` matches every change that has a value.
  if (value === "*" && !part.isQuoted && field.type !== "is")
    return {
      text: "*",
      holds: (row, context) => [readField(field, row, context)].flat().some((present) => present !== null),
    };
  const alternatives = splitAlternatives(part);
  switch (field.type) {
    case "words":
    case "is": {
      const words = alternatives.map((text) => parseWord(name, text, field.values));
      const holds = (row: Row, context: Context): boolean =>
        field.type === "is"
          ? words.some((word) => field.is(row, word, context))
          : field.of(row, context).some((word) => words.includes(word));
      return { text: words.join(","), holds };
    }
    case "number":
      return combineAlternatives(alternatives.map((text) => createNumberTest(name, field, text)));
    case "date":
      return combineAlternatives(alternatives.map((text) => createDateTest(name, field, text, moment)));
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

/** Splits a value at commas into alternatives; a quoted value is a single one. */
const splitAlternatives = ({ value, isQuoted }: Part): string[] =>
  (isQuoted ? [value] : value.split(",")).map((text) => text.trim()).filter((text) => text !== "");

function parseWord(name: string, text: string, allowed: readonly string[]): string {
  const lower = text.toLowerCase().replaceAll("-", "_");
  const aliases = new Map(Object.entries(VALUE_ALIASES[name] ?? {}));
  // An alias such as `rolledback` may also be written with a hyphen or an underscore.
  const word = aliases.get(lower.replaceAll("_", "")) ?? aliases.get(lower) ?? lower;
  if (allowed.includes(word)) return word;
  if (name === "is" && (RESOLUTIONS as readonly string[]).includes(word))
    throw invalidField("q", `is: has no value ${text}: did you mean resolution:${word}?`);
  const spellings = [...allowed, ...aliases.keys()];
  throw invalidField(
    "q",
    `${name}: has no value ${text}: did you mean ${findNearest(word, spellings)}? Its values are ${allowed.join(", ")}`,
  );
}

function describeValues(field: Field): string {
  if ("values" in field) return `: one of ${field.values.join(", ")}`;
  return field.type === "date" ? `: ${DATE_FORMS}` : "";
}

function createTextTest(field: Extract<Field, { of(row: Row): readonly string[] }>, part: Part): ValueTest {
  const values = splitAlternatives(part);
  const isMatch = (recorded: string): boolean => {
    if (field.type === "pattern") return values.some((value) => matchesPattern(recorded, value));
    if (field.type === "names") return listShortNames(recorded).some((name) => isListedName(name, values));
    return values.includes(recorded);
  };
  const text = values
    .map((value) => (/[\s",]/.test(value) || (part.isQuoted && value === "*") ? `"${value}"` : value))
    .join(",");
  const mustBeRecorded = field.type === "names" || field.type === "text";
  return {
    text,
    holds: (row) => (field.of as (row: Row) => readonly string[])(row).some(isMatch),
    ...(mustBeRecorded && { names: values }),
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
  const { sign, from, to } = parseRange(value);
  const isValid = [from, to].every((text) => text === "" || NUMBER.test(text));
  if (!isValid || (sign !== "" && from === ""))
    throw invalidField("q", `${name}: must be a number, or a range such as >100, <100 or 10..100; not ${value}`);
  const low = from === "" ? -Infinity : Number(from);
  const high = to === "" ? Infinity : Number(to);
  const isInRange = (recorded: number): boolean => {
    if (sign === ">") return recorded > low;
    if (sign === "<") return recorded < low;
    return recorded >= low && recorded <= high;
  };
  return {
    text: value,
    holds: (row) => {
      const recorded = field.of(row);
      return recorded !== null && isInRange(recorded);
    },
  };
}

function createDateTest(
  name: string,
  field: Extract<Field, { type: "date" }>,
  value: string,
  { now, zone }: Moment,
): ValueTest {
  const parseDate = (text: string) => {
    if (text === "") return { from: -Infinity, to: Infinity };
    const span = parseSpan(text, now, zone);
    if (!span) throw invalidField("q", `${name}: must be ${DATE_FORMS}, or a range such as >2026-10-01; not ${value}`);
    return span;
  };
  const { sign, from, to } = parseRange(value);
  if (sign !== "" && from === "") throw invalidField("q", `${name}: needs a date after ${sign}`);
  const [first, last] = [parseDate(from), parseDate(to)];
  const holdsAt = (ms: number): boolean => {
    if (sign === ">") return ms >= first.to;
    if (sign === "<") return ms < first.from;
    return ms >= first.from && ms < last.to;
  };
  return {
    // Words are in lower case; the letters of ISO 8601 stay in upper case.
    text: value
      .toLowerCase()
      .replace(/t(?=\d\d:)/g, "T")
      .replace(/z(?=$|\.\.)/g, "Z")
      .replace(/-w(?=\d\d)/g, "-W"),
    holds: (row, context) => field.of(row, context).some((time) => holdsAt(Date.parse(time))),
    holdsAt,
  };
}

/** Parses a range; a single value is both its beginning and its end; with a sign, `from` is the value. */
function parseRange(value: string): { sign: "" | ">" | "<"; from: string; to: string } {
  const sign = value[0] === ">" || value[0] === "<" ? value[0] : "";
  if (sign !== "") return { sign, from: value.slice(1), to: "" };
  const dots = value.indexOf("..");
  if (dots === -1) return { sign, from: value, to: value };
  return { sign, from: value.slice(0, dots), to: value.slice(dots + 2) };
}
