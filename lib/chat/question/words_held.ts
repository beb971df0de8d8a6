/** The words of a question by which changes are looked for in what people wrote of them. */
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
  const beside = { drift: new Map() };
  const holds = (row: Row, text: string): boolean => matches(row, { text }, beside);
  const words = new Set(unknown);
  let holding = words.size === 0 ? [] : rows.filter((row) => matches(row, { change_id, tenant_id, target }, beside));
  const held: string[] = [];
  for (const [place, word] of [...words].entries()) {
    // A number alone is in too many texts to be what is meant; and whoever tells a story asks for no words of a change.
    if (/^\d+$/.test(word) || place >= LOOKED_FOR) {
      left.push(word);
      continue;
    }
    // "approved by legal" asks for a person.
    const isMeant = new RegExp(
      `\\b(?:by|tenant|target) ["']?${word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}`,
      "iu",
    ).test(asked);
    const forms = isMeant ? [] : [...new Set([word, stemOf(word)])];
    const text = forms.find((form) => holding.some((row) => holds(row, form)));
    if (text === undefined) left.push(word);
    else {
      held.push(text);
      holding = holding.filter((row) => holds(row, text));
    }
  }
  return held.length === 0 ? undefined : held.join(" ");
}

/** `price` begins as `pricing` does. */
const stemOf = (word: string): string => (word.length < 5 ? word : word.replace(/(?:ies|es|s|e|y|ing|ed)$/, ""));
