/** Completes the term of a query at the caret with fields and values. */
import type { QueryField } from "../core/api_types.ts";

/** Suggestions at most. */
const MAX_SUGGESTIONS = 12;

/** A text that can stand for the term. */
export interface Suggestion {
  text: string;
  hint: string;
}

/** The suggestions for the part of a query between two places. */
export interface Completion {
  from: number;
  to: number;
  suggestions: Suggestion[];
}

/** Lists completions of the term that ends at the caret. */
export function completeQuery(query: string, caret: number, fields: readonly QueryField[]): Completion {
  const from = findTermStart(query, caret);
  const typed = query.slice(from, caret);
  const [, sign = "", name, rest = ""] = /^(-?)(?:([a-z][a-z_-]*)[:：])?(.*)$/isu.exec(typed)!;
  const rule = rest.startsWith('"') ? /^[^"]*"?/ : /^[^\s"]*/;
  const to = caret + rule.exec(query.slice(caret))![0].length;
  const suggestions =
    name === undefined
      ? completeField(rest, fields).map((field) => ({ text: `${sign}${field.field}:`, hint: describeField(field) }))
      : completeValue(
          rest,
          fields.find(({ field }) => field === name.toLowerCase()),
        ).map((value) => ({ text: `${sign}${name.toLowerCase()}:${value}`, hint: "" }));
  return { from, to, suggestions: suggestions.slice(0, MAX_SUGGESTIONS) };
}

/** Returns the query with a suggestion in it, and the caret behind that; a space follows a value. */
export function insertSuggestion(
  query: string,
  { from, to }: Completion,
  { text }: Suggestion,
): { query: string; caret: number } {
  const after = query.slice(to);
  const space = text.endsWith(":") || /^\s/.test(after) ? "" : " ";
  const before = query.slice(0, from) + text + space;
  return { query: before + after, caret: before.length };
}

function findTermStart(query: string, caret: number): number {
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < caret; at++) {
    if (query[at] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && /\s/.test(query[at]!)) start = at + 1;
  }
  return start;
}

const completeField = (typed: string, fields: readonly QueryField[]): QueryField[] =>
  rank(typed, fields, ({ field }) => field);

/** Values that match what stands behind the last comma or sign of a comparison; one in quotes stands alone. */
function completeValue(typed: string, field: QueryField | undefined): string[] {
  if (field === undefined) return [];
  const isQuoted = typed.startsWith('"');
  const given = isQuoted ? "" : /^(?:.*(?:,|\.\.)|[<>])?/s.exec(typed)![0];
  const wanted = isQuoted ? typed.slice(1).replace(/"$/, "") : typed.slice(given.length);
  const found = rank(wanted, field.values, (value) => value).filter((value) => value !== wanted);
  return found
    .map((value) => (/[\s,]/.test(value) ? `"${value}"` : value))
    .filter((value) => given === "" || !value.startsWith('"'))
    .map((value) => given + value);
}

/** Lists the items that begin with a text, then those that hold it. */
function rank<T>(text: string, all: readonly T[], nameOf: (one: T) => string): T[] {
  const wanted = text.toLowerCase();
  const place = (one: T): number => nameOf(one).toLowerCase().indexOf(wanted);
  const held = all.filter((one) => place(one) >= 0);
  return [...held.filter((one) => place(one) === 0), ...held.filter((one) => place(one) > 0)];
}

function describeField({ takes, values }: QueryField): string {
  if (takes === "names" || takes === "pattern") return values.length === 0 ? "text" : "a name on record";
  if (takes === "number") return "a number, >10, 10..20";
  const shown = values.slice(0, 3).join(", ");
  return values.length > 3 ? `${shown}, …` : shown;
}
