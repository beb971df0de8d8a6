/** Compares rows for the order of a query. */
import { RISKS } from "../changes/rules/change.ts";
import { type Context, type Field, type FieldName, FIELDS } from "./fields.ts";
import type { Query, Sort } from "./parse.ts";
import type { FoundRow } from "./row.ts";

/**
 * Creates the comparison of rows for a query. Without `sort:`, rows are sorted by relevance if the query has free words, else
 * newest first. Rows without a value come last in both directions; equal rows are sorted newest first.
 */
export function createComparator({ sort, words }: Query, context: Context): (a: FoundRow, b: FoundRow) => number {
  const hasWords = words.some(({ negated }) => !negated);
  const { by, ascending } = sort ?? ({ by: hasWords ? "relevance" : "proposed", ascending: false } satisfies Sort);
  const readKey = sortKey(by, context);
  const direction = ascending ? 1 : -1;
  return (a, b) => {
    const [left, right] = [readKey(a), readKey(b)];
    if (left === right) return compareNewestFirst(a, b);
    if (left === null) return 1;
    if (right === null) return -1;
    return left < right ? -direction : direction;
  };
}

function compareNewestFirst(a: FoundRow, b: FoundRow): number {
  const [left, right] = [a.row.change.change_id, b.row.change.change_id];
  if (left === right) return 0;
  return left > right ? -1 : 1;
}

function sortKey(by: Sort["by"], context: Context): (found: FoundRow) => string | number | null {
  if (by === "relevance") return ({ score }) => score;
  if (by === "time") return ({ duration }) => duration;
  if (by === "risk") return ({ row }) => RISKS.indexOf(row.change.risk);
  const field: Exclude<Field, { type: "is" }> = FIELDS[by satisfies FieldName];
  if (field.type === "number") return ({ row }) => field.of(row);
  // The last of several moments is used.
  return ({ row }) => field.of(row, context).at(-1) ?? null;
}
