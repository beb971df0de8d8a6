/** Markdown for reports. Text of users is escaped, so that it cannot form markup. */
import { INVISIBLE } from "../kit/invisible.ts";
import { toOneLine, quote } from "../kit/quote.ts";

/** Formats an id, a target or another short word as code. */
export const formatCode = (text: string): string => `\`${toOneLine(text).replaceAll("`", "'")}\``;

/** Escapes text that may contain words of users. */
export const escapeMarkdown = (text: string): string => text.replace(/[\\`*_{}[\]<>#|]/g, "\\$&");

/** Quotes prose of a user; a longer text is cut to `maxLength` characters. */
export const quoteMarkdown = (text: string, maxLength?: number): string => escapeMarkdown(quote(text, maxLength));

/** Builds a link whose text is prose of a user. */
export const link = (text: string, maxLength: number, address: string): string =>
  `[${quoteMarkdown(text, maxLength)}](${address})`;

/** Characters that end a line in some programs. */
const LINE_ENDS = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;
/** Invisible characters: they may reverse the order of visible ones. */
const INVISIBLE_CHARACTERS = new RegExp(INVISIBLE.source, "gu");

/**
 * Marks each line of foreign text as a quotation, so that none looks like a heading or a line of the report. Tags and links are
 * escaped.
 */
export const blockQuote = (text: string): string =>
  text
    .split(LINE_ENDS)
    .map((line) => `> ${line.replace(INVISIBLE_CHARACTERS, "").replace(/[\\<[]/g, "\\$&")}`.trimEnd())
    .join("\n");

/** Formats a figure between 0 and 1, or "no data". */
export const share = (value: number | null): string => (value === null ? "no data" : value.toFixed(3));

/** Builds a list; undefined instead of an empty one. */
export const list = (items: readonly string[]): string | undefined =>
  items.length === 0 ? undefined : items.map((item) => `- ${item}`).join("\n");

/** Joins paragraphs and lists; undefined ones are left out. */
export const page = (...blocks: readonly (string | undefined)[]): string =>
  `${blocks.filter((block) => block !== undefined).join("\n\n")}\n`;
