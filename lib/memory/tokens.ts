/**
 * Splits text into search terms. Chinese, Japanese and Korean have no spaces between words, so each pair of neighbouring
 * characters is a term; other text is split into words without common English endings.
 */
// The mark ー of long vowels belongs to no script.
const CJK = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー";
const WORD = `(?:(?![${CJK}])[\\p{L}\\p{M}\\p{N}])+`;
/** A sequence of CJK characters, or a word with its parts: `crm.followup`, `ana@acme.example`, `chg_0193`. */
const TOKEN = new RegExp(`([${CJK}]+)|${WORD}(?:[._:@/-]${WORD})*`, "gu");

/** Returns the terms of a text to index, with single CJK characters, and composed words both complete and in parts. */
export function textTerms(text: string): string[] {
  const terms: string[] = [];
  for (const [token, cjk] of listTokens(text)) {
    if (cjk) terms.push(...token, ...characterPairs(token));
    else terms.push(...wordTerms(token));
  }
  return terms;
}

/** Frequent English words that do not distinguish texts. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  "a an and are as at be been by for from had has have in is it its of on or that the this to was were with".split(" "),
);

/** Returns the terms of a query, each once: pairs of CJK characters, and words; stop words only if there are no others. */
export function queryTerms(text: string): string[] {
  const terms: string[] = [];
  for (const [token, cjk] of listTokens(text)) {
    if (!cjk) terms.push(...wordTerms(token));
    else if ([...token].length > 1) terms.push(...characterPairs(token));
    else terms.push(token);
  }
  const significant = terms.filter((term) => !STOP_WORDS.has(term));
  return [...new Set(significant.length > 0 ? significant : terms)];
}

const listTokens = (text: string) =>
  normalizeText(text).matchAll(TOKEN) as IterableIterator<[token: string, cjk: string | undefined]>;

/** Normalises case, compatibility forms such as full width, and accents, except in scripts that need their marks. */
const normalizeText = (text: string): string =>
  text
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFKC")
    .toLowerCase();

function characterPairs(text: string): string[] {
  const characters = [...text];
  return characters.slice(1).map((character, index) => characters[index]! + character);
}

function wordTerms(token: string): readonly string[] {
  const parts = token.split(/[._:@/-]/);
  return parts.length > 1 ? [token, ...parts.map(stem)] : [stem(token)];
}

/** Removes English endings: approve, approves, approved, approving → approv; denies, denied → deny; stopped → stop. Texts and queries use it alike. */
const stem = (term: string): string =>
  term
    .replace(/^([a-z]{2,})(?:ies|ied)$/, "$1y")
    .replace(/^([a-z]{3,}?)(?:ing|ed|es|e|(?<!s)s)$/, "$1")
    .replace(/([bdgmnprt])\1$/, "$1");
