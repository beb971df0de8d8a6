/** Formats text for terminals: aligned, without control characters. */
import { eastAsianWidth } from "get-east-asian-width";
import { INVISIBLE } from "../../lib/kit/invisible.ts";
import { describe, type DescribableEntry, toSentence } from "../../lib/wording/describe.ts";
import { joinParts, showForeignText } from "../../lib/wording/part.ts";

const INVISIBLE_CHARACTERS = new RegExp(INVISIBLE.source, "gu");

/** Escapes invisible characters and control characters in text of others. */
export const escapeInvisible = (text: string): string =>
  text.replace(INVISIBLE_CHARACTERS, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);

/** Maximum length of a quoted text, such as the reason of a decision. */
const MAX_QUOTED_LENGTH = 200;

/** Formats an entry of the log as a sentence; invisible characters in quoted text are escaped. */
export const formatEntry = (entry: DescribableEntry): string =>
  joinParts(toSentence(describe(entry)), (part) =>
    showForeignText({ ...part, text: escapeInvisible(part.text) }, MAX_QUOTED_LENGTH),
  );

/** Returns the number of columns that text takes in a terminal. */
export const displayWidth = (text: string): number =>
  [...text].reduce(
    (sum, character) => sum + (/^\p{M}$/u.test(character) ? 0 : eastAsianWidth(character.codePointAt(0)!)),
    0,
  );

const padText = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - displayWidth(text)));

/**
 * Formats a table with headings. Rows are truncated to `columns`; before the last column is truncated, the columns in `spare` are
 * omitted in their order.
 */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  columns = Infinity,
  spare: readonly string[] = [],
): string {
  const lines = [headings, ...rows].map((row) => row.map(escapeInvisible));
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => displayWidth(line[column]!))));
  const shownColumns = selectColumns(headings, widths, columns, spare);
  return lines
    .map((line) => shownColumns.map((column) => padText(line[column]!, widths[column]!)).join("  "))
    .map((line) => truncateLine(line.trimEnd(), columns))
    .join("\n");
}

/** Minimum width of the last column before others are omitted. */
const MIN_LAST_COLUMN = 24;

/** Returns the indexes of the columns that are shown. */
function selectColumns(
  headings: readonly string[],
  widths: readonly number[],
  columns: number,
  spare: readonly string[],
) {
  const last = headings.length - 1;
  let fitting = headings.map((_, column) => column);
  for (const name of spare) {
    // Two spaces separate a column from the next.
    const needed = fitting.reduce(
      (sum, each) => sum + (each === last ? Math.min(MIN_LAST_COLUMN, widths[each]!) : widths[each]! + 2),
      0,
    );
    if (needed <= columns) break;
    fitting = fitting.filter((each) => headings[each] !== name);
  }
  return fitting;
}

function truncateLine(line: string, columns: number): string {
  if (displayWidth(line) <= columns) return line;
  let fitting = "";
  for (const each of line) {
    if (displayWidth(fitting + each) >= columns) break;
    fitting += each;
  }
  return `${fitting}…`;
}

/** Formats labels and values in two columns; empty values are omitted. */
export function formatFacts(rows: Readonly<Record<string, string | number | null | undefined>>): string {
  const filled = Object.entries(rows).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const width = Math.max(0, ...filled.map(([name]) => name.length));
  const continuation = `\n${" ".repeat(width + 4)}`;
  const formatValue = (value: unknown) => String(value).split(/\r?\n/).map(escapeInvisible).join(continuation);
  return filled.map(([name, value]) => `  ${padText(name, width)}  ${formatValue(value)}`).join("\n");
}

/** Formats JSON on indented lines. */
export const formatJson = (value: unknown): string =>
  JSON.stringify(value, null, 2)
    .split("\n")
    .map((line) => `  ${escapeInvisible(line)}`)
    .join("\n");
