/** Completes the last term of a query with fields and values. */
import type { QueryField } from "../core/api_types.ts";

const MAX_SUGGESTIONS = 12;

/** Returns the query with its last term completed, the best completion first. */
export function completeQuery(query: string, fields: readonly QueryField[]): string[] {
  const from = findTermStart(query);
  const [, sign = "", name, rest = ""] = /^(-?)(?:([a-z][a-z_-]*)[:：])?(.*)$/isu.exec(query.slice(from))!;
  const terms =
    name === undefined
      ? rank(rest, fields.map(({ field }) => field)).map((field) => `${field}:`) // prettier-ignore
      : completeValue(
          rest,
          fields.find(({ field }) => field === name.toLowerCase()),
        ).map((value) => `${name.toLowerCase()}:${value} `);
  return terms.slice(0, MAX_SUGGESTIONS).map((term) => query.slice(0, from) + sign + term);
}

function findTermStart(query: string): number {
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < query.length; at++) {
    const character = query[at]!;
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && /\s/.test(character)) start = at + 1;
  }
  return start;
}

/** Completes the value after the last comma, `..`, `<` or `>`. A quoted value is completed alone, since none may follow these. */
function completeValue(typed: string, field: QueryField | undefined): string[] {
  if (field === undefined) return [];
  const isQuoted = typed.startsWith('"');
  const prefix = isQuoted ? "" : /^(?:.*(?:,|\.\.)|[<>])?/s.exec(typed)![0];
  const wanted = isQuoted ? typed.slice(1).replace(/"$/, "") : typed.slice(prefix.length);
  return rank(wanted, field.values)
    .filter((value) => value !== wanted)
    .map((value) => (/[\s,]/.test(value) ? `"${value}"` : value))
    .filter((value) => prefix === "" || !value.startsWith('"'))
    .map((value) => prefix + value);
}

/** Lists the names that begin with a text, then those that contain it. */
function rank(text: string, names: readonly string[]): string[] {
  const findOffset = (name: string): number => name.toLowerCase().indexOf(text.toLowerCase());
  return names
    .filter((name) => findOffset(name) >= 0)
    .sort((a, b) => Math.sign(findOffset(a)) - Math.sign(findOffset(b)));
}
