/** The core to read by docs/trust_core.md: that it is short, and that there is nothing else. */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./markdown.ts";
import { TRUST_CORE } from "./reference/trust_core.ts";

const MOST_LINES = 600;
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const FILES = Object.keys(TRUST_CORE);

/** Lines that say something to the machine. */
const codeOf = (path: string): string[] =>
  read(path)
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\/\/.*/, "").trim())
    .filter((line) => line !== "");

test("the files of the trust core are 600 lines of code at most", () => {
  expect(FILES.length).toBeGreaterThan(10);
  expect(FILES.flatMap(codeOf).length).toBeLessThanOrEqual(MOST_LINES);
});

test("they use each other, zod and the package in the list, and nothing else but types", () => {
  const used = FILES.filter((path) => path.endsWith(".ts")).flatMap((path) =>
    [...read(path).matchAll(/^import\s+(?!type\s)[^"]*"([^"]+)"/gm)].map(([, name]) =>
      name!.startsWith(".") ? relative(ROOT, join(ROOT, path, "..", name!)) : name!,
    ),
  );
  expect([...new Set(used)].filter((name) => !FILES.includes(name)).sort()).toEqual(["canonicalize", "zod"]);
  expect(read("node_modules/canonicalize/lib/canonicalize.js")).not.toMatch(/\bimport\b|\brequire\(/);
});
