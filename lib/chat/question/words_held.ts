/** The words of a question by which changes are looked for in what people wrote of them. */
import { WORDS_OF_PRODUCTS } from "../../memory/product_words.ts";
import type { ChangeFilter } from "../../pulse/query/filter.ts";
import { matches } from "../../pulse/query/matches.ts";
import type { Row } from "../../pulse/query/row.ts";
import type { Question } from "./read.ts";

/** So many words are looked for in the texts of changes. */
const LOOKED_FOR = 12;

/** The words that mean nothing else, as far as the changes that are named hold them together; the others are left. */
export function textOf(
  { unknown, text: asked }: Question,
  filter: ChangeFilter,
  rows: readonly Row[],
  left: string[],
): string | undefined {
  const { change_id, tenant_id, target } = filter;
  const words = [...new Set(unknown)];
  const among = words.length === 0 ? [] : rows.filter((row) => matches(row, { change_id, tenant_id, target }, BESIDE));
  // What a Chinese word stands for is what the words beside it are held together with.
  const first = words.find((word) => WORDS_OF_PRODUCTS.has(word));
  // Each form is looked for in the texts once.
  const found = new Map<string, ReadonlySet<Row>>();
  const holding = (form: string): ReadonlySet<Row> => {
    const known = found.get(form) ?? new Set(among.filter((row) => matches(row, { text: form }, BESIDE)));
    found.set(form, known);
    return known;
  };
  const tries = (WORDS_OF_PRODUCTS.get(first ?? "") ?? [undefined]).map((form) =>
    heldBy(words, holding, asked, form === undefined ? undefined : { word: first!, form }),
  );
  const best = tries.reduce((one, other) => (other.left.length < one.left.length ? other : one));
  left.push(...best.left);
  return best.held.length === 0 ? undefined : best.held.join(" ");
}

const BESIDE = { drift: new Map() };

/** Each word in the first form in which the changes hold it that hold those before it; `as` is a form that one of them is to have. */
function heldBy(
  words: readonly string[],
  rowsWith: (form: string) => ReadonlySet<Row>,
  asked: string,
  as: { word: string; form: string } | undefined,
): { held: string[]; left: string[] } {
  let holding: ReadonlySet<Row> | undefined;
  const held: string[] = [];
  const left: string[] = [];
  // "Price" is meant to find pricing.bundle too.
  const wordOrStem = (word: string): string[] => {
    const stem = stemOf(word);
    return rowsWith(stem).size > rowsWith(word).size ? [stem, word] : [word, stem];
  };
  for (const [place, word] of words.entries()) {
    // A number alone is in too many texts to be what is meant; and whoever tells a story asks for no words of a change.
    const isNone = /^\d+$/.test(word) || place >= LOOKED_FOR || isPerson(word, asked);
    const forms = as?.word === word ? [as.form] : [...wordOrStem(word), ...(WORDS_OF_PRODUCTS.get(word) ?? [])];
    const both = (form: string): ReadonlySet<Row> =>
      holding ? new Set([...holding].filter((row) => rowsWith(form).has(row))) : rowsWith(form);
    const text = isNone ? undefined : forms.find((form) => both(form).size > 0);
    if (text === undefined) left.push(word);
    else {
      held.push(text);
      holding = both(text);
    }
  }
  return { held, left };
}

/** "Approved by legal" asks for a person. */
const isPerson = (word: string, asked: string): boolean =>
  new RegExp(`\\b(?:by|tenant|target) ["']?${word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}`, "iu").test(asked);

/** `price` begins as `pricing` does. */
const stemOf = (word: string): string => (word.length < 5 ? word : word.replace(/(?:ies|es|s|e|y|ing|ed)$/, ""));
