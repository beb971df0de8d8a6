/** Splits the text of a query into its parts: at spaces outside quotes, each with its sign and the field before its colon. */
import { invalidField } from "../kit/errors.ts";

/** One free word, or one `field:value`. */
export interface Part {
  negated: boolean;
  /** Name of the field as it was written; undefined for a free word. */
  field?: string | undefined;
  value: string;
  isQuoted: boolean;
}

const PART = /(-?)(?:([a-z][a-z_-]*):)?(?:"([^"]*)"|([^\s"]*))/iy;

/** Splits a query. Errors: 400 `invalid_field` q for a quote that is not closed. */
export function split(query: string): Part[] {
  // Some keyboards write typographic quotes and a full-width colon.
  const text = query
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll("：", ":")
    .trim();
  const parts: Part[] = [];
  for (let at = 0; at < text.length; at = PART.lastIndex + countSpaces(text, PART.lastIndex)) {
    PART.lastIndex = at;
    const [all, sign, field, phrase, word = ""] = PART.exec(text)!;
    if (text[at + all.length] === '"') throw invalidField("q", "has a quotation mark that is not closed");
    const value = phrase ?? word;
    // A sign alone and an empty pair of quotes are ignored.
    if (value !== "" || field !== undefined)
      parts.push({ negated: sign === "-", field, value, isQuoted: phrase !== undefined });
  }
  return parts;
}

const countSpaces = (text: string, at: number): number => text.length - at - text.slice(at).trimStart().length;
