/** The tables of a document, so that tests hold them against what the code says. */
import type { Document } from "./markdown.ts";

/** The rows of all tables under a heading of this name, or of the whole document: their cells, without code marks. */
export function listRows({ prose }: Document, ...header: string[]): string[][] {
  const rows: string[][] = [];
  let within = false;
  for (const { text } of prose) {
    if (!text.startsWith("|")) {
      within = false;
      continue;
    }
    const cells = cellsOf(text);
    if (header.every((name, index) => cells[index] === name)) within = true;
    else if (within && !/^:?-+:?$/.test(cells[0]!)) rows.push(cells);
  }
  return rows;
}

/** Cells as they read: a bar within code is escaped, and so may be an asterisk. */
const cellsOf = (line: string): string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll(/\\([*|_<>])/g, "$1"));

/** A cell that is code, without its marks. */
export const bare = (cell: string): string => cell.replace(/^`(.*)`$/, "$1");
