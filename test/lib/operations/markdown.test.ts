/** Quotations of free text in the Markdown files of the service. */
import { expect, test } from "vitest";
import { blockQuote } from "../../../lib/operations/markdown.ts";

test("a quotation quotes each line, and escapes tags and links, also after a backslash", () => {
  expect(blockQuote("One\n\n## Two\u2028# Three")).toBe("> One\n>\n> ## Two\n> # Three");
  expect(blockQuote("<b> [x](https://x.example)")).toBe("> \\<b> \\[x](https://x.example)");
  // A backslash before the character would otherwise cancel its escape.
  expect(blockQuote(String.raw`\<b> \\[x](https://x.example)`)).toBe(String.raw`> \\\<b> \\\\\[x](https://x.example)`);
});
