/** Invisible characters are found; emoji sequences and joiners that a script needs are visible. */
import { expect, test } from "vitest";
import { INVISIBLE } from "../../../lib/kit/invisible.ts";

test.each(["⚠️ seats", "1️⃣ first", "👩‍💻", "👩🏽‍💻", "🏳️‍🌈", "❤️‍🔥", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "علی‌رضا", "ශ්‍රී", "র‍্য", "ന്‍"])(
  "%s has only visible characters",
  (text) => {
    expect(INVISIBLE.test(text)).toBe(false);
  },
);

test.each([
  "a\u200db",
  "a\ufe0f",
  "1\ufe0f",
  "😀\u200d",
  "\u200c\u0639",
  "\u0639\u200c",
  "\u0639\u200cx",
  "a\u{e0041}",
  "\u{1f3f4}\u{e0067}x\u{e0067}",
  `\u{1f3f4}${"\u{e0067}".repeat(8)}`,
  "\u05d0\u200f",
  "a\u00adb",
  "ana\u2800",
  "ana\ufff9",
  "ana\ufffb",
  "a\u0000",
])("%j has an invisible character", (text) => {
  expect(INVISIBLE.test(text)).toBe(true);
});
