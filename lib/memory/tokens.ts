/**
 * Text as search terms. Chinese, Japanese and Korean do not mark their words by spaces, so each pair of neighbouring
 * characters is a term; everything else becomes words, their common English endings cut. What means the same is one term.
 */
import { SYNONYMS } from "./synonyms.ts";

const CJK = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー";
const WORD = `(?:(?![${CJK}])[\\p{L}\\p{M}\\p{N}])+`;
/** A run of CJK characters, or a word with its parts: `crm.followup`, `ana@acme.example`, `chg_0193`. */
const PIECE = new RegExp(`([${CJK}]+)|${WORD}(?:[._:@/-]${WORD})*`, "gu");

/** The terms that a text is found by: single CJK characters too, and a composed word both whole and in parts. */
export function textTerms(text: string): string[] {
  const terms: string[] = [];
  for (const [piece, cjk] of pieces(text)) {
    if (cjk) terms.push(...piece, ...pairs(piece));
    else terms.push(...word(piece));
  }
  return terms;
}

/** Words of English that hold sentences together, and are in all of them. */
const JOINTS: ReadonlySet<string> = new Set(
  "a an and are as at be been by for from had has have in is it its of on or that the this to was were with".split(" "),
);

/** The terms to look for, each once: pairs where there is more than one CJK character, joints where there is nothing else. */
export function queryTerms(text: string): string[] {
  const terms: string[] = [];
  for (const [piece, cjk] of pieces(text)) {
    const characters = cjk ? [...piece] : [];
    if (characters.length > 1) terms.push(...pairs(piece));
    else terms.push(...(cjk ? characters : word(piece)));
  }
  const telling = terms.filter((term) => !JOINTS.has(term));
  return [...new Set(telling.length > 0 ? telling : terms)];
}

function pieces(text: string) {
  let meant = normal(text);
  for (const { hint, phrases } of PHRASES)
    if (hint.test(meant)) meant = meant.replace(phrases, (phrase) => ` ${firstsOf(phrase)} `);
  return meant.matchAll(PIECE) as IterableIterator<[piece: string, cjk: string | undefined]>;
}

/** Compatibility forms (full width, ligatures) and case are one; so are accents, outside scripts that need their marks. */
const normal = (text: string): string =>
  text
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFKC")
    .toLowerCase();

function pairs(run: string): string[] {
  const characters = [...run];
  return characters.slice(1).map((character, i) => characters[i]! + character);
}

function word(piece: string): readonly string[] {
  const parts = piece.split(/[._:@/-]/);
  return parts.length > 1 ? [piece, ...parts.flatMap(meant)] : meant(piece);
}

/** Words come again and again: what those of late stand for. */
const known = new Map<string, readonly string[]>();
const KNOWN = 10_000;

function meant(term: string): readonly string[] {
  let stems = known.get(term);
  if (!stems) {
    const stemmed = stem(term);
    if (known.size === KNOWN) known.clear();
    known.set(term, (stems = MEANT.get(stemmed) ?? [stemmed]));
  }
  return stems;
}

/** approve, approves, approved, approving → approv; denies, denied → deny. Crude, and the same for text and query. */
const stem = (term: string): string =>
  term
    .replace(/^([a-z]{2,})(?:ies|ied)$/, "$1y")
    .replace(/^([a-z]{3,}?)(?:ing|ed|es|e|(?<!s)s)$/, "$1")
    .replace(/([bdgmnprt])\1$/, "$1");

/** The first of each row in which a word or a phrase stands. */
const FIRSTS: ReadonlyMap<string, readonly string[]> = new Map(
  SYNONYMS.flat().map((one) => [one, SYNONYMS.flatMap((row) => (row.includes(one) ? row[0]! : []))]),
);

const isPhrase = (one: string): boolean => !/^[a-z]+$/.test(one);

/** What a stem stands for. */
const MEANT: ReadonlyMap<string, readonly string[]> = new Map(
  [...FIRSTS].flatMap(([one, firsts]) => (isPhrase(one) ? [] : [[stem(one), firsts.map(stem)]])),
);

const firstsOf = (phrase: string): string => FIRSTS.get(phrase.replace(/[\s_-]+/g, " "))!.join(" ");

/** Any of them, the longest first: 没达到 is no 达到. */
const anyOf = (phrases: readonly string[]): string =>
  [...new Set(phrases)].sort((a, b) => b.length - a.length).join("|");
const spaced = [...FIRSTS.keys()].filter((one) => one.includes(" "));

/** Phrases, and what a text has that may have one: most have none, and are not looked through for each. */
const PHRASES: readonly { hint: RegExp; phrases: RegExp }[] = [
  {
    hint: new RegExp(`[\\s_-](?:${anyOf(spaced.map((one) => one.split(" ").at(-1)!))})\\b`),
    phrases: new RegExp(`\\b(?:${anyOf(spaced.map((one) => one.replaceAll(" ", "[\\s_-]+")))})\\b`, "g"),
  },
  {
    hint: /\p{Script=Han}/u,
    phrases: new RegExp(anyOf([...FIRSTS.keys()].filter((one) => isPhrase(one) && !one.includes(" "))), "g"),
  },
];
