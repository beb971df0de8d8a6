/** Helpers for tables of the manual that tests generate from the code; `UPDATE_GOLDEN=1` writes them into the pages. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "prettier";
import { expect } from "vitest";
import { ROOT } from "./markdown.ts";

/** Matches the first generated table of a page. */
export const GENERATED = /(?<=<!-- from (?:lib|local|test\/docs\/reference)\/[\w/]+\.ts -->\n\n)[^]*?(?=\n\n<!-- end)/;

/** Renders a Markdown table; the second row is the line of dashes below the header. */
export const renderTable = (...rows: (readonly string[])[]): string =>
  rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** Requires that a page has the rendered tables; with UPDATE_GOLDEN=1 writes the page instead. */
export async function checkPage(path: string, render: (text: string) => string): Promise<void> {
  const file = join(ROOT, path);
  const text = readFileSync(file, "utf8");
  const expected = await format(render(text), { parser: "markdown", printWidth: 120 });
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(file, expected);
  else expect(text.split("\n")).toEqual(expected.split("\n"));
}

/** Renders a table of names and texts. */
export const renderFields = (fields: Readonly<Record<string, string>>, header = ["Field", "Meaning"]): string =>
  renderTable(header, ["---", "---"], ...Object.entries(fields).map(([name, text]) => [`\`${name}\``, text]));

/** Replaces all generated tables of a page, in order. */
export function replaceTables(text: string, ...tables: string[]): string {
  expect(text.split(GENERATED)).toHaveLength(tables.length + 1);
  return text.replaceAll(new RegExp(GENERATED, "g"), () => tables.shift()!);
}
