import { expect, test } from "vitest";
import { blockQuote } from "../../../lib/operations/markdown.ts";

test("in a quotation no line begins again, and tags and links stay text, also behind a backslash", () => {
  expect(blockQuote("One\n\n## Two\u2028# Three")).toBe("> One\n>\n> ## Two\n> # Three");
  expect(blockQuote("<b> [x](https://x.example)")).toBe("> \\<b> \\[x](https://x.example)");
  // A backslash that stood before the mark would take the mark's own away.
  expect(blockQuote(String.raw`\<b> \\[x](https://x.example)`)).toBe(String.raw`> \\\<b> \\\\\[x](https://x.example)`);
});
