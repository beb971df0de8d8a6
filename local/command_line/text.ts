/** Text for people: aligned, and free of what a terminal would obey. */
import { eastAsianWidth } from "get-east-asian-width";
import { INVISIBLE } from "../../lib/kit/invisible.ts";
import { describe, type Described, toSentence } from "../../lib/wording/describe.ts";
import { joinParts, showForeignText } from "../../lib/wording/part.ts";

const UNSEEN = new RegExp(INVISIBLE.source, "gu");

/** Somebody's text on one line: what nobody would see, or a terminal would obey, is written out. */
export const visible = (text: string): string =>
  text.replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);

const MAX_REASON = 200;

/** An entry of the log in a sentence; what others wrote has its invisible characters written out. */
export const entryText = (entry: Described): string =>
  joinParts(toSentence(describe(entry)), (part) =>
    showForeignText({ ...part, given: visible(part.given) }, MAX_REASON),
  );

/** How many columns a terminal needs. */
export const displayWidth = (text: string): number =>
  [...text].reduce((sum, each) => sum + (/^\p{M}$/u.test(each) ? 0 : eastAsianWidth(each.codePointAt(0)!)), 0);

const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - displayWidth(text)));

/**
 * A table with a heading, its columns as wide as they must be; a row ends where the terminal does. Before the last column
 * is cut short, those of `spare` are left out, the first one first.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  columns = Infinity,
  spare: readonly string[] = [],
): string {
  const lines = [headings, ...rows].map((row) => row.map(visible));
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => displayWidth(line[column]!))));
  const kept = fitting(headings, widths, columns, spare);
  return lines
    .map((line) => kept.map((column) => padded(line[column]!, widths[column]!)).join("  "))
    .map((line) => cut(line.trimEnd(), columns))
    .join("\n");
}

/** Enough of a sentence to know which one it is. */
const LEGIBLE = 24;

/** The columns that are shown. */
function fitting(headings: readonly string[], widths: readonly number[], columns: number, spare: readonly string[]) {
  const last = headings.length - 1;
  let kept = headings.map((_, column) => column);
  for (const name of spare) {
    const needed = kept.reduce(
      (sum, each) => sum + (each === last ? Math.min(LEGIBLE, widths[each]!) : widths[each]! + 2),
      0,
    );
    if (needed <= columns) break;
    kept = kept.filter((each) => headings[each] !== name);
  }
  return kept;
}

function cut(line: string, columns: number): string {
  if (displayWidth(line) <= columns) return line;
  let kept = "";
  for (const each of line) {
    if (displayWidth(kept + each) >= columns) break;
    kept += each;
  }
  return `${kept}…`;
}

/** Names and what belongs to each, its lines under each other; what is absent is left out. */
export function facts(rows: Readonly<Record<string, string | number | null | undefined>>): string {
  const filled = Object.entries(rows).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const width = Math.max(0, ...filled.map(([name]) => name.length));
  const under = `\n${" ".repeat(width + 4)}`;
  const shown = (value: unknown) => String(value).split(/\r?\n/).map(visible).join(under);
  return filled.map(([name, value]) => `  ${padded(name, width)}  ${shown(value)}`).join("\n");
}

/** JSON on lines of its own, indented. */
export const shownJson = (value: unknown): string =>
  JSON.stringify(value, null, 2)
    .split("\n")
    .map((line) => `  ${visible(line)}`)
    .join("\n");
