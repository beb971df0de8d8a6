/** Counts the words of the manual, without tables and pages that tests generate from the code. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Maximum number of words in the manual. */
export const MAX_WORDS = 35_000;
const GENERATED_PAGES = new Set(["collections.md", "intent_fields.md"]);
const GENERATED_TABLES = /<!-- (?:from \S+|tamper table) -->[^]*?<!-- end of .*?-->/g;
/** A word has a letter or a digit; signs of tables and lists are not words. */
const WORD = /\S*[\p{L}\p{N}]\S*/gu;

/** Counts the words of a page. */
export const countWords = (text) => [...text.replaceAll(GENERATED_TABLES, "").matchAll(WORD)].length;

/** Counts the words of every page below a folder: `[path, words]`, longest first. */
export function countManual(folder) {
  const pages = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith(".md"));
  return pages
    .filter((path) => !GENERATED_PAGES.has(path))
    .map((path) => [path, countWords(readFileSync(join(folder, path), "utf8"))])
    .toSorted(([, one], [, other]) => other - one);
}
