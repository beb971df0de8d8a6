/** The trust core that docs/trust_core.md lists is short, and it depends on no other code. */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./markdown.ts";
import { TRUST_CORE } from "./reference/trust_core.ts";

const MAX_LINES = 600;
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const FILES = Object.keys(TRUST_CORE);

/** Returns the lines of a file without comments and empty lines. */
const readCodeLines = (path: string): string[] =>
  read(path)
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\/\/.*/, "").trim())
    .filter((line) => line !== "");

test("the files of the trust core are 600 lines of code at most", () => {
  expect(FILES.length).toBeGreaterThan(10);
  expect(FILES.flatMap(readCodeLines).length).toBeLessThanOrEqual(MAX_LINES);
});

test("the files import only each other, zod, the listed package, and types", () => {
  const imported = FILES.filter((path) => path.endsWith(".ts")).flatMap((path) =>
    [...read(path).matchAll(/^import\s+(?!type\s)[^"]*"([^"]+)"/gm)].map(([, name]) =>
      name!.startsWith(".") ? relative(ROOT, join(ROOT, path, "..", name!)) : name!,
    ),
  );
  expect([...new Set(imported)].filter((name) => !FILES.includes(name)).sort()).toEqual(["canonicalize", "zod"]);
  expect(read("node_modules/canonicalize/lib/canonicalize.js")).not.toMatch(/\bimport\b|\brequire\(/);
});
