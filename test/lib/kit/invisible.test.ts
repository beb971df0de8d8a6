/** Invisible characters are found; emoji sequences and joiners that a script needs are visible. */
import { expect, test } from "vitest";
import { INVISIBLE } from "../../../lib/kit/invisible.ts";

// Emoji with a variation selector, a joiner, a skin tone or tags; then words of scripts that need joiners.
test.each(["⚠️ seats", "1️⃣ first", "👩‍💻", "👩🏽‍💻", "🏳️‍🌈", "❤️‍🔥", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "علی‌رضا", "ශ්‍රී", "র‍্য", "ന്‍"])(
  "%s has only visible characters",
  (text) => {
    expect(INVISIBLE.test(text)).toBe(false);
  },
);

test.each([
  ["a zero-width joiner between letters", "a\u200db"],
  ["a variation selector after a letter", "a\ufe0f"],
  ["a variation selector after a digit", "1\ufe0f"],
  ["a zero-width joiner after the last emoji", "😀\u200d"],
  ["a zero-width non-joiner before the first Arabic letter", "\u200c\u0639"],
  ["a zero-width non-joiner after the last Arabic letter", "\u0639\u200c"],
  ["a zero-width non-joiner between an Arabic and a Latin letter", "\u0639\u200cx"],
  ["a tag after a letter", "a\u{e0041}"],
  ["a tag after a letter in a black flag's sequence", "\u{1f3f4}\u{e0067}x\u{e0067}"],
  ["more tags after a black flag than a region has", `\u{1f3f4}${"\u{e0067}".repeat(8)}`],
  ["a right-to-left mark", "\u05d0\u200f"],
  ["a soft hyphen", "a\u00adb"],
  ["a blank braille pattern", "ana\u2800"],
  ["an annotation anchor", "ana\ufff9"],
  ["an annotation terminator", "ana\ufffb"],
  ["a control character", "a\u0000"],
])("%s is invisible", (_, text) => {
  expect(INVISIBLE.test(text)).toBe(true);
});
