/** Parses the text of a query: free words and `field:value` terms, all of which must match. */
import { invalidField } from "../kit/errors.ts";
import { findNearest } from "../kit/nearest.ts";
import { queryTerms, textTerms } from "../memory/tokens.ts";
import { DURATIONS, FIELD_ALIASES, FIELD_NAMES, type FieldName, findField, GROUPS, SORTS } from "./fields.ts";
import type { Event } from "./row.ts";
import { type Part, splitQuery } from "./split_query.ts";
import { type Moment, type ValueTest, parseTest } from "./value_tests.ts";

export const MAX_QUERY_LENGTH = 1000;
const MAX_PARTS = 40;

/** A term of a query, `field:value`. */
export interface Term extends ValueTest {
  field: FieldName;
  negated: boolean;
}

/** A free word or phrase with its search terms. */
export interface Word {
  negated: boolean;
  /** Complete terms, or with `*` the beginning of a term. */
  terms: readonly string[];
  /** The terms as they must follow each other in `Row.terms`, each between spaces; absent if their order is irrelevant. */
  sequence?: string | undefined;
}

/** The order of rows. */
export interface Sort {
  by: (typeof SORTS)[number];
  ascending: boolean;
}

/** A query, ready to run. */
export interface Query {
  /** The normalised text. */
  text: string;
  words: readonly Word[];
  /** Ids among the free words. */
  ids: readonly { id: string; negated: boolean }[];
  terms: readonly Term[];
  sort?: Sort | undefined;
  group?: (typeof GROUPS)[number] | undefined;
  /** The duration to compute for each row, such as `proposed-applied`. */
  time?: { name: string; from: Event; to: Event } | undefined;
}

/** Parses a query; relative dates refer to `moment`. Errors: 400 `invalid_field` q with the nearest known word. */
export function parseQuery(text: string, moment: Moment): Query {
  const parts = splitQuery(text);
  if (parts.length > MAX_PARTS) throw invalidField("q", `must have at most ${MAX_PARTS} words and terms`);
  const query = { words: [] as Word[], ids: [] as Query["ids"][number][], terms: [] as Term[] };
  const orders: Pick<Query, "sort" | "group" | "time"> = {};
  const normalized: string[] = [];
  for (const part of parts) {
    const sign = part.negated ? "-" : "";
    if (part.field === undefined) {
      requireNoOperator(part);
      normalized.push(sign + quoteWord(part));
      addWord(query, part);
      continue;
    }
    const field = readFieldName(part);
    if (field === "sort" || field === "group" || field === "time") {
      if (part.negated) throw invalidField("q", `${field}: cannot be negated`);
      if (orders[field]) throw invalidField("q", `${field}: must occur only once`);
      normalized.push(`${field}:${parseOrder(orders, field, part.value)}`);
    } else {
      const test = parseTest(field, findField(field)!, part, moment);
      query.terms.push({ field, negated: part.negated, ...test });
      normalized.push(`${sign}${field}:${test.text}`);
    }
  }
  if (orders.sort?.by === "time" && !orders.time)
    throw invalidField("q", `sort:time needs a time:, such as time:${DURATIONS[0]}`);
  return { text: normalized.join(" "), ...query, ...orders };
}

/** Rejects `OR`, and a bracket before a field: both would be searched for as words. */
function requireNoOperator({ value, isQuoted }: Part): void {
  if (!isQuoted && (value === "OR" || /^\(+-?[a-z_-]+:/i.test(value)))
    throw invalidField("q", "has no OR and no brackets: write alternatives with commas, such as is:pending,approved");
}

function readFieldName({ field: writtenName }: Part): FieldName | "sort" | "group" | "time" {
  const name = writtenName!.toLowerCase();
  const field = Object.hasOwn(FIELD_ALIASES, name) ? FIELD_ALIASES[name]! : name;
  if (FIELD_NAMES.includes(field)) return field as FieldName;
  throw invalidField(
    "q",
    `has no field ${writtenName}: did you mean ${findNearest(name, [...FIELD_NAMES, ...Object.keys(FIELD_ALIASES)])}:? Put text that holds a colon in quotes`,
  );
}

function addWord(query: { words: Word[]; ids: Query["ids"][number][] }, { value, negated, isQuoted }: Part): void {
  if (/^chg_[0-9a-f-]+$/i.test(value)) {
    query.ids.push({ id: value.toLowerCase(), negated });
    return;
  }
  const isPrefix = !isQuoted && value.length > 1 && value.endsWith("*");
  // The index has a composed word such as a target both complete and in parts; the query uses its parts.
  const isComposed = !/\s/.test(value) && COMPOSED_WORD.test(value) && !CJK.test(value);
  const word = isPrefix ? value.slice(0, -1) : value;
  const text = isComposed ? word.replaceAll(/[._:@/-]+/g, " ") : word;
  const terms = queryTerms(text);
  if (terms.length === 0) return;
  if (isPrefix) terms.push(`${terms.pop()!}*`);
  const isPhrase = isQuoted && /\s/.test(value.trim()) && !CJK.test(value);
  const hasSequence = isPhrase || (isComposed && !isPrefix);
  query.words.push({ negated, terms, ...(hasSequence && { sequence: ` ${textTerms(text).join(" ")} ` }) });
}

/** A word of several parts, such as a target. */
const COMPOSED_WORD = /[\p{L}\p{N}][._:@/-]+[\p{L}\p{N}]/u;

/** Characters of Chinese, Japanese and Korean: their search terms overlap, so the terms of a phrase do not follow each other. */
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

const quoteWord = ({ value, isQuoted }: Part): string => (isQuoted ? `"${value}"` : value);

/** Parses the value of `sort:`, `group:` or `time:` into `orders`, and returns it normalised. */
function parseOrder(
  orders: Pick<Query, "sort" | "group" | "time">,
  name: "sort" | "group" | "time",
  text: string,
): string {
  const value = text.toLowerCase().replaceAll("_", "-");
  const isAscending = name === "sort" && value.endsWith("-asc");
  const word = isAscending ? value.slice(0, -4) : value;
  const allowed: readonly string[] = { sort: SORTS, group: GROUPS, time: DURATIONS }[name];
  if (!allowed.includes(word))
    throw invalidField(
      "q",
      `${name}: has no value ${text}: did you mean ${findNearest(word, allowed)}? Its values are ${allowed.join(", ")}`,
    );
  if (name === "sort") orders.sort = { by: word as Sort["by"], ascending: isAscending };
  else if (name === "group") orders.group = word as (typeof GROUPS)[number];
  else {
    const [from, to] = word.split("-") as [Event, Event];
    orders.time = { name: word, from, to };
  }
  return value;
}
