/** The order of rows. */
import { RISKS } from "../changes/rules/change.ts";
import { type Context, type Field, type FieldName, FIELDS } from "./fields.ts";
import type { Query, Sort } from "./parse.ts";
import type { Found } from "./row.ts";

/**
 * Compares rows by the order of a query: by how well they fit where it has free words, else the newest first. What has no value
 * comes last either way; among equals the newest first.
 */
export function comparing({ sort, words }: Query, context: Context): (a: Found, b: Found) => number {
  const hasWords = words.some(({ negated }) => !negated);
  const { by, ascending } = sort ?? ({ by: hasWords ? "relevance" : "proposed", ascending: false } satisfies Sort);
  const keyOf = keyFor(by, context);
  const way = ascending ? 1 : -1;
  return (a, b) => {
    const [left, right] = [keyOf(a), keyOf(b)];
    if (left === null || right === null) return left === right ? newer(a, b) : left === null ? 1 : -1;
    return left === right ? newer(a, b) : left < right ? -way : way;
  };
}

const newer = (a: Found, b: Found): number => {
  const [left, right] = [a.row.change.change_id, b.row.change.change_id];
  return left === right ? 0 : left > right ? -1 : 1;
};

function keyFor(by: Sort["by"], context: Context): (found: Found) => string | number | null {
  if (by === "relevance") return ({ score }) => score;
  if (by === "time") return ({ duration }) => duration;
  if (by === "risk") return ({ row }) => RISKS.indexOf(row.change.risk);
  const field: Exclude<Field, { type: "is" }> = FIELDS[by satisfies FieldName];
  if (field.type === "number") return ({ row }) => field.of(row);
  // The last of several moments counts.
  return ({ row }) => field.of(row, context).at(-1) ?? null;
}
