/** Detects invisible characters. Emoji and several scripts need some of them, which are allowed there. */

/** Scripts whose letters join, so that a joiner between two letters is visible. */
const JOINING = "\\p{sc=Arab}\\p{sc=Syrc}\\p{sc=Mand}\\p{sc=Mong}\\p{sc=Nkoo}\\p{sc=Phag}\\p{sc=Rohg}";
/** Scripts that write conjuncts, in which a joiner stands next to a virama. */
const CONJUNCT =
  "\\p{sc=Deva}\\p{sc=Beng}\\p{sc=Guru}\\p{sc=Gujr}\\p{sc=Orya}\\p{sc=Taml}\\p{sc=Telu}\\p{sc=Knda}\\p{sc=Mlym}" +
  "\\p{sc=Sinh}\\p{sc=Mymr}\\p{sc=Khmr}\\p{sc=Tibt}\\p{sc=Bali}\\p{sc=Java}";

/** Characters without a shape of their own that change the visible text (Unicode TR 51, RFC 5892 appendix A). */
const PART_OF_TEXT = [
  // A keycap: 1️⃣
  "(?<=[0-9#*])\\uFE0F(?=\\u20E3)",
  // An emoji, shown as picture or as text.
  "(?<=(?![0-9#*])\\p{Emoji})[\\uFE0E\\uFE0F]",
  // One emoji made of several.
  "(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\uFE0F])\\u200D(?=\\p{Extended_Pictographic})",
  // The flag of a region, whose code is a few tags.
  "(?<=\\u{1F3F4}[\\u{E0030}-\\u{E0039}\\u{E0061}-\\u{E007A}]{0,6})[\\u{E0030}-\\u{E0039}\\u{E0061}-\\u{E007A}\\u{E007F}]",
  // Between two letters that join.
  `(?<=[${JOINING}])[\\u200C\\u200D](?=[${JOINING}])`,
  // After a mark of such a script, for example its virama, or before one.
  `(?<=(?=\\p{M})[${CONJUNCT}])[\\u200C\\u200D]`,
  `(?<=[${CONJUNCT}])[\\u200C\\u200D](?=(?=\\p{M})[${CONJUNCT}])`,
].join("|");

/**
 * Matches control characters and invisible characters, by which two names that look alike could differ. Emoji sequences and
 * the joiners that a script needs are allowed. U+2800 is the empty Braille pattern; U+FFF9 to U+FFFB enclose annotations.
 */
export const INVISIBLE = new RegExp(
  `(?!${PART_OF_TEXT})[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800\\uFFF9-\\uFFFB]`,
  "u",
);
