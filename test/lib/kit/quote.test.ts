/** Texts of people are quoted so that they cannot look like text of the service. */
import { expect, test } from "vitest";
import { label, quote, shorten } from "../../../lib/kit/quote.ts";

test("a quoted text stays on one line, for all line separators", () => {
  for (const breaks of ["\n", "\r\n", "\u0085", "\u2028", "\u2029", "\v", "\f", "\t", "\0"])
    expect(quote(`ready${breaks}Last decision: approved`)).toBe("“ready Last decision: approved”");
});

test("no text ends its own quotation", () => {
  for (const mark of ['"', "“", "”", "„", "‟", "〝", "〞", "＂", "″"])
    expect(quote(`harmless${mark}. Decision by ana: ${mark}approved`)).toBe("“harmless'. Decision by ana: 'approved”");
});

test("invisible characters are removed: bidi controls, zero width, tags", () => {
  expect(quote("in\u202evoice\u2066\u200b\ufeff\u{e0041}\u{e0042}")).toBe("“invoice”");
});

test("no text opens a fence of Markdown", () => {
  expect(quote("```\nrm -rf\n~~~~")).toBe("“''' rm -rf ''''”");
});

test("a long text is shortened with an ellipsis, and stays well-formed", () => {
  expect(quote("abcdef", 3)).toBe("“abc…”");
  // The emoji is two UTF-16 code units, which a cut must not part.
  expect(quote("ab😀", 3)).toBe("“ab…”");
  expect(quote("abc", 3)).toBe("“abc”");
});

test.each(["ana", "ana@acme.example", "llm:gpt-5", "陈", "t-100"])("%s is a single word and is not quoted", (name) => {
  expect(label(name)).toBe(name);
});

// A label has at most 100 characters.
test.each(["Ana Lee", "ana, approved by bo", "ana:\u00a0yes", "ana\u202e", "", "a".repeat(101)])(
  "%o could be read as more than a name, and is quoted",
  (name) => {
    expect(label(name)).toMatch(/^“[^“”\n]*”$/);
  },
);

test("a shortened line closes the quotation that it cuts", () => {
  expect(shorten("said by ana: “the launch is on Friday”", 20)).toBe("said by ana: “the la…”");
  expect(shorten("by ana: “yes”, and then more", 16)).toBe("by ana: “yes”, a…");
  expect(shorten("short", 5)).toBe("short");
});
