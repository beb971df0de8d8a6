/** Tables of the manual that tests make from the code; `UPDATE_GOLDEN=1` writes them again. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "prettier";
import { expect } from "vitest";
import { ROOT } from "./markdown.ts";

/** The first generated table of a text. */
export const GENERATED = /(?<=<!-- from (?:lib|local|test\/docs\/reference)\/[\w/]+\.ts -->\n\n)[^]*?(?=\n\n<!-- end)/;

/** Returns a table of Markdown; the second row is the line below the header. */
export const renderTable = (...rows: (readonly string[])[]): string =>
  rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** Compares a page with its tables as they should be; UPDATE_GOLDEN=1 writes it again. */
export async function checkPage(path: string, render: (text: string) => string): Promise<void> {
  const file = join(ROOT, path);
  const text = readFileSync(file, "utf8");
  const expected = await format(render(text), { parser: "markdown", printWidth: 120 });
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(file, expected);
  else expect(text.split("\n")).toEqual(expected.split("\n"));
}

/** Returns a table of names and texts. */
export const renderFields = (fields: Readonly<Record<string, string>>, header = ["Field", "Meaning"]): string =>
  renderTable(header, ["---", "---"], ...Object.entries(fields).map(([name, text]) => [`\`${name}\``, text]));

/** Replaces the generated tables of a page in order. */
export function replaceTables(text: string, ...tables: string[]): string {
  expect(text.split(GENERATED)).toHaveLength(tables.length + 1);
  return text.replaceAll(new RegExp(GENERATED, "g"), () => tables.shift()!);
}
