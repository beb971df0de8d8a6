/** How names compare: spellings that look alike are the same name. */

/** ASCII characters with single spaces between words: such a name only needs lower case. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;

/** Joiners, variation selectors and tags. Names that differ only by these look alike. */
const JOINERS = /\u200c|\u200d|[\ufe0e\ufe0f]|[\u{e0020}-\u{e007f}]/gu;

/** Returns a name in the form that is compared: trimmed, NFKC, with full case folding, single spaces, and without joiners. */
export const normalizeName = (name: string): string => (PLAIN.test(name) ? name.toLowerCase() : foldName(name));

const foldName = (name: string): string =>
  foldCase(name.normalize("NFKC").trim()).normalize("NFKC").replaceAll(/\s+/g, " ").replaceAll(JOINERS, "");

/** Full case folding, letter by letter: in upper case, ß becomes SS. A dotless i stays itself. */
const foldCase = (text: string): string =>
  text.replaceAll(/[^\u0131]/gu, (letter) => letter.toLowerCase().toUpperCase().toLowerCase());

/** Returns true if a name is one of these, however it is spelled. */
export const isListedName = (name: string, names: string | readonly string[]): boolean =>
  [names].flat().some((listed) => normalizeName(listed) === normalizeName(name));
