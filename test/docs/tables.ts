/** Reads the tables of a document, so that tests can compare them with the code. */
import type { Document } from "./markdown.ts";

/** Returns the cells of each row below a header that begins with these names. */
export function listRows({ prose }: Document, ...header: string[]): string[][] {
  const rows: string[][] = [];
  let isInTable = false;
  for (const { text } of prose) {
    if (!text.startsWith("|")) {
      isInTable = false;
      continue;
    }
    const cells = parseCells(text);
    if (header.every((name, index) => cells[index] === name)) isInTable = true;
    else if (isInTable && !/^:?-+:?$/.test(cells[0]!)) rows.push(cells);
  }
  return rows;
}

/** Splits a line into cells, and removes the backslashes before `*`, `|`, `_`, `<` and `>`. */
const parseCells = (line: string): string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll(/\\([*|_<>])/g, "$1"));

/** Removes the backticks around a cell. */
export const withoutBackticks = (cell: string): string => cell.replace(/^`(.*)`$/, "$1");
