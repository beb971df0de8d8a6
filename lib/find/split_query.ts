/** Splits the text of a query at spaces outside quotes into parts. */
import { invalidField } from "../kit/errors.ts";

/** A free word, or `field:value`. */
export interface Part {
  /** True for a part with a minus sign. */
  negated: boolean;
  /** Name of the field as written; undefined for a free word. */
  field?: string | undefined;
  value: string;
  isQuoted: boolean;
}

const PART = /(-?)(?:([a-z][a-z_-]*):)?(?:"([^"]*)"|([^\s"]*))/iy;

/** Splits a query. Errors: 400 `invalid_field` q for a quote that is not closed. */
export function splitQuery(query: string): Part[] {
  // Some keyboards write typographic quotes and a full-width colon.
  const text = query
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll("：", ":")
    .trim();
  const parts: Part[] = [];
  let position = 0;
  while (position < text.length) {
    PART.lastIndex = position;
    // The pattern always matches, if need be an empty text. It ends before a quote that is not closed, and before one in a word.
    const [part, sign, field, phrase, word = ""] = PART.exec(text)!;
    if (text[position + part.length] === '"')
      throw invalidField("q", "has a quotation mark that is not closed, or stands in a word");
    position = PART.lastIndex + countSpaces(text, PART.lastIndex);
    const value = phrase ?? word;
    // A sign alone and an empty pair of quotes are ignored.
    if (value !== "" || field !== undefined)
      parts.push({ negated: sign === "-", field, value, isQuoted: phrase !== undefined });
  }
  return parts;
}

const countSpaces = (text: string, start: number): number => text.length - start - text.slice(start).trimStart().length;
