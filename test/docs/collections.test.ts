/** The manual says of every collection what an edit of it comes to. */
import { readdirSync, readFileSync } from "node:fs";

import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

/** The collections that rooms declare. */
function declared(): string[] {
  const found = new Set<string>();
  const files = ["lib", "local"].flatMap((folder) =>
    (readdirSync(join(ROOT, folder), { recursive: true }) as string[]).map((file) => join(folder, file)),
  );
  for (const file of files.filter((name) => name.endsWith(".ts"))) {
    const text = readFileSync(join(ROOT, file), "utf8");
    for (const [, body] of text.matchAll(/^ {2}interface Collections \{(.*?)^ {2}\}/gms))
      for (const [, name] of body!.matchAll(/^ {4}(\w+):/gm)) found.add(name!);
  }
  return [...found, "meta"].sort();
}

test("each collection that is declared has its place in the table, and no other", () => {
  const manual = readFileSync(join(ROOT, "docs/evidence.md"), "utf8");
  const table = manual.slice(
    manual.indexOf("### What an edit of each collection does"),
    manual.indexOf("## What each of them"),
  );
  const named = new Set<string>();
  for (const row of table.split("\n").filter((line) => line.startsWith("| `")))
    for (const cell of row.split("|")[1]!.split(", ")) named.add(cell.trim().match(/^`(\w+)`/)?.[1] ?? cell);
  expect([...named].filter((name) => !["checkpoint"].includes(name)).sort()).toEqual(declared());
});
