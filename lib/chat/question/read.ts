/** What a question says: its words and names in what they mean, the days it speaks of, and what was not understood. */
import { WORDS_OF_PRODUCTS } from "../../memory/product_words.ts";
import { type Lexicon, type Sense, SENSES } from "./senses.ts";
import type { NameKind, Names } from "./names.ts";
import { formsOf } from "./forms.ts";
import type { Token } from "./token.ts";
import { negated } from "./negated.ts";
import { type FoundPeriod, type Period, periodsIn } from "./periods.ts";
import { WORDS_EN } from "./words_en.ts";
import { WORDS_ZH } from "./words_zh.ts";

export type Language = "en" | "zh";

/** Chinese where there are Chinese characters and no Japanese ones. */
export const languageOf = (text: string): Language =>
  /\p{Script=Han}/u.test(text) && !/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text) ? "zh" : "en";

/** A question as it was read. */
export interface Question {
  text: string;
  language: Language;
  tokens: readonly Token[];
  has(...senses: readonly Sense[]): boolean;
  named(kind: NameKind): string[];
  /** Of what was. */
  periods: readonly Period[];
  /** Days of what is to come. */
  ahead: Period | undefined;
  /** Words that mean nothing here. */
  unknown: string[];
}

/** How a message begins that then asks: it asks for nothing by itself. */
const SALUTATION =
  /^\s*(?:(?:good )?(?:morning|afternoon|evening|day)|hi|hello|hey|dear|greetings|早上好|上午好|下午好|晚上好|早安|早|你好|您好|大家好|嗨)(?: (?:there|all|everybody|everyone|team|folks))?\s*[,!.:;—–，！。：；~～]+\s*(?=\S)/i;
/** A message is read as far as this. */
const READ = 1000;

/** Words and phrases, by how they begin. */
const LEXICON = compiled([WORDS_EN, WORDS_ZH]);

/** Words with what they mean; without any, they stand for words of records. */
interface Phrase {
  words: string;
  senses: Sense[];
}

function compiled(lexicons: readonly Lexicon[]): Map<string, Phrase[]> {
  const phrases = new Map<string, Phrase>();
  for (const lexicon of lexicons)
    for (const sense of SENSES)
      for (const words of (lexicon[sense] ?? "").split("|").flatMap(formsOf)) {
        const phrase = phrases.get(words) ?? { words, senses: [] };
        if (!phrase.senses.includes(sense)) phrase.senses.push(sense);
        phrases.set(words, phrase);
      }
  for (const words of WORDS_OF_PRODUCTS.keys()) if (!phrases.has(words)) phrases.set(words, { words, senses: [] });
  const byFirst = new Map<string, Phrase[]>();
  for (const phrase of [...phrases.values()].sort((a, b) => b.words.length - a.words.length)) {
    const first = phrase.words[0]!;
    byFirst.set(first, [...(byFirst.get(first) ?? []), phrase]);
  }
  return byFirst;
}

/** Whether words mean something by themselves, so that no name is shortened to them. */
export const isWord = (words: string): boolean =>
  (LEXICON.get(words[0] ?? "") ?? []).some((phrase) => phrase.words === words && phrase.senses.length > 0);

/** Reads a question. */
export function readQuestion(message: string, names: Names, now: number): Question {
  const original = message
    .normalize("NFKC")
    .replaceAll("’", "'")
    .replace(/(\d),(?=\d{3}(?!\d))/g, "$1")
    .slice(0, READ)
    .replace(SALUTATION, "");
  const text = original.toLowerCase();
  const periods = new Map(periodsIn(text, now).map((period) => [period.at, period]));
  const tokens: Token[] = [];
  for (let at = 0; at < text.length;) at += next(text, at, { names, periods, tokens });
  return questionOf(original, negated(tokens));
}

interface Reading {
  names: Names;
  periods: ReadonlyMap<number, FoundPeriod>;
  tokens: Token[];
}

/** Reads what begins at a place, and returns how long that is. */
function next(text: string, at: number, { names, periods, tokens }: Reading): number {
  const id = /^chg_[0-9a-f-]{8,36}/.exec(text.slice(at, at + 40))?.[0];
  if (id) {
    tokens.push({ type: "name", named: { kind: "change", values: [id] }, words: id, possessive: false });
    return id.length;
  }
  const name = names.at(text, at);
  const phrase = phraseAt(text, at);
  const period = periods.get(at);
  // "from ana" begins where "from Monday" might.
  if (period) {
    const { from, to, length, isAhead } = period;
    const days = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
    tokens.push({ type: "period", period: days, isAhead, words: text.slice(at, at + length) });
    return length;
  }
  if (name && name.length >= (phrase?.words.length ?? 0)) {
    const behind = /^'s?\b|^'(?=\s)/.exec(text.slice(at + name.length))?.[0] ?? "";
    const words = text.slice(at, at + name.length);
    tokens.push({
      type: "name",
      named: name.named,
      words,
      possessive: behind !== "" || /^ ?的/.test(text.slice(at + name.length, at + name.length + 2)),
    });
    return name.length + behind.length;
  }
  if (phrase) {
    const { senses, words } = phrase;
    tokens.push(senses.length === 0 ? { type: "unknown", words } : { type: "sense", senses, words });
    return phrase.words.length;
  }
  return unknown(text, at, tokens);
}

function unknown(text: string, at: number, tokens: Token[]): number {
  const word = /^[\p{L}\p{N}](?:[\p{L}\p{N}_@:./-]*[\p{L}\p{N}_])?/u.exec(text.slice(at))?.[0];
  if (word === undefined) return [...text.slice(at, at + 2)][0]!.length;
  if (HAN.test(word)) return unknownHan(text, at, tokens);
  const words = /^[^\p{Script=Han}]+/u.exec(word)?.[0] ?? word;
  tokens.push({ type: "unknown", words });
  return words.length;
}

const HAN = /^\p{Script=Han}/u;
const CHINESE = new Intl.Segmenter("zh", { granularity: "word" });

/** A Chinese word that means nothing here, whole: what was read of its beginning, as of 会 in 会员, was no word. */
function unknownHan(text: string, at: number, tokens: Token[]): number {
  const { segment, index } = CHINESE.segment(text).containing(at)!;
  let begin = at;
  for (let last = tokens.at(-1); begin > index && last; last = tokens.at(-1)) {
    const isPart = last.words === text[begin - 1] && last.type === "sense" && last.senses.every(isOfNoWeight);
    if (!isPart) break;
    tokens.pop();
    begin--;
  }
  const words = begin === index ? segment : [...text.slice(at)][0]!;
  const last = tokens.at(-1);
  const isOne = last?.type === "unknown" && /\p{Script=Han}$/u.test(last.words) && !WORDS_OF_PRODUCTS.has(last.words);
  if (isOne) tokens[tokens.length - 1] = { type: "unknown", words: last.words + words };
  else tokens.push({ type: "unknown", words });
  return (begin === index ? index : at) + words.length - at;
}

const isOfNoWeight = (sense: Sense): boolean => sense === "noise" || sense === "of";

/** The longest word or phrase at a place; one of letters ends where a word ends. */
function phraseAt(text: string, at: number): Phrase | undefined {
  if (/[a-z0-9_]/.test(text[at]!) && /[a-z0-9_]/.test(text[at - 1] ?? "")) return undefined;
  return LEXICON.get(text[at]!)?.find(
    ({ words }) =>
      text.startsWith(words, at) && !(/[a-z0-9]$/.test(words) && /[a-z0-9_]/.test(text[at + words.length] ?? "")),
  );
}

/** The same question with its words in other meanings. */
export const withTokens = ({ text, language }: Question, tokens: readonly Token[]): Question => ({
  ...questionOf(text, tokens),
  language,
});

function questionOf(text: string, tokens: readonly Token[]): Question {
  const senses = new Set(tokens.flatMap((token) => (token.type === "sense" ? token.senses : [])));
  return {
    text,
    language: languageOf(text),
    tokens,
    has: (...asked) => asked.some((sense) => senses.has(sense)),
    named: (kind) => [
      ...new Set(
        tokens.flatMap((token) => (token.type === "name" && token.named.kind === kind ? token.named.values : [])),
      ),
    ],
    periods: tokens.flatMap((token) => (token.type === "period" && !token.isAhead ? [token.period] : [])),
    ahead: tokens.flatMap((token) => (token.type === "period" && token.isAhead ? [token.period] : []))[0],
    unknown: tokens.flatMap((token) => (token.type === "unknown" ? [token.words] : [])),
  };
}
