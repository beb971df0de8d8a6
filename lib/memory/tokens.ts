/**
 * Splits text into search terms. Chinese, Japanese and Korean have no spaces between words, so each pair of neighbouring
 * characters is a term; other text is split into words without common English endings.
 */
const CJK = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー";
const WORD = `(?:(?![${CJK}])[\\p{L}\\p{M}\\p{N}])+`;
/** A run of CJK characters, or a word with its parts: `crm.followup`, `ana@acme.example`, `chg_0193`. */
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

/** Returns the terms of a query, each once: pairs of CJK characters, and stop words only where there is nothing else. */
export function queryTerms(text: string): string[] {
  const terms: string[] = [];
  for (const [token, cjk] of listTokens(text)) {
    const characters = cjk ? [...token] : [];
    if (characters.length > 1) terms.push(...characterPairs(token));
    else terms.push(...(cjk ? characters : wordTerms(token)));
  }
  const significant = terms.filter((term) => !STOP_WORDS.has(term));
  return [...new Set(significant.length > 0 ? significant : terms)];
}

const listTokens = (text: string) =>
  normalizeText(text).matchAll(TOKEN) as IterableIterator<[piece: string, cjk: string | undefined]>;

/** Normalises case, compatibility forms such as full width, and accents, except in scripts that need their marks. */
const normalizeText = (text: string): string =>
  text
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFKC")
    .toLowerCase();

function characterPairs(run: string): string[] {
  const characters = [...run];
  return characters.slice(1).map((character, i) => characters[i]! + character);
}

function wordTerms(token: string): readonly string[] {
  const parts = token.split(/[._:@/-]/);
  return parts.length > 1 ? [token, ...parts.map(stem)] : [stem(token)];
}

/** approve, approves, approved, approving → approv; denies, denied → deny. Crude, and the same for text and query. */
const stem = (term: string): string =>
  term
    .replace(/^([a-z]{2,})(?:ies|ied)$/, "$1y")
    .replace(/^([a-z]{3,}?)(?:ing|ed|es|e|(?<!s)s)$/, "$1")
    .replace(/([bdgmnprt])\1$/, "$1");
