/** How names and targets compare: a look-alike of a different spelling is the same name. */

/** Letters of ASCII with single spaces between them: of these only the case is not as it is compared. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;

/** Joiners, variation selectors and tags: text may need them, and two names that differ by them alone look alike. */
const JOINERS = /\u200c|\u200d|[\ufe0e\ufe0f]|[\u{e0020}-\u{e007f}]/gu;

/** A person's name as it is compared: trimmed, NFKC, with full case folding, single spaces, and without joiners. */
export const normalizeName = (name: string): string => (PLAIN.test(name) ? name.toLowerCase() : foldName(name));

const foldName = (name: string): string =>
  foldCase(name.normalize("NFKC").trim()).normalize("NFKC").replaceAll(/\s+/g, " ").replaceAll(JOINERS, "");

/** Full case folding, letter by letter; a dotless i stays itself. */
const foldCase = (text: string): string =>
  text.replaceAll(/[^\u0131]/gu, (letter) => letter.toLowerCase().toUpperCase().toLowerCase());

/** Returns whether a name is this one, or one of these. */
export const isListedName = (name: string, names: string | readonly string[]): boolean =>
  [names].flat().some((one) => normalizeName(one) === normalizeName(name));
