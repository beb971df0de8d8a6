/** The little Markdown that reports are made of. What people wrote is shown as text and can form no markup. */
import { INVISIBLE } from "../kit/invisible.ts";
import { toOneLine, quote } from "../kit/quote.ts";

/** An id, a target or another short word, as it is. */
export const formatCode = (text: string): string => `\`${toOneLine(text).replaceAll("`", "'")}\``;

/** Words that may hold somebody else's, so that they form no markup. */
export const escapeMarkdown = (text: string): string => text.replace(/[\\`*_{}[\]<>#|]/g, "\\$&");

/** Prose that somebody wrote; of a long one its first `most` characters. */
export const quoteMarkdown = (text: string, maxLength?: number): string => escapeMarkdown(quote(text, maxLength));

/** A link on prose that somebody wrote. */
export const link = (text: string, maxLength: number, address: string): string =>
  `[${quoteMarkdown(text, maxLength)}](${address})`;

/** Characters that end a line in some programs. */
const LINE_ENDS = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;
/** Invisible characters: they may reverse the order of visible ones. */
const INVISIBLE_CHARACTERS = new RegExp(INVISIBLE.source, "gu");

/**
 * Lines that somebody else wrote, each marked as a quotation: none can look like a heading or a line of the report. Tags and
 * links stay the text that they are.
 */
export const blockQuote = (text: string): string =>
  text
    .split(LINE_ENDS)
    .map((line) => `> ${line.replace(INVISIBLE_CHARACTERS, "").replace(/[\\<[]/g, "\\$&")}`.trimEnd())
    .join("\n");

/** A figure between 0 and 1, or why there is none. */
export const share = (value: number | null): string => (value === null ? "no data" : value.toFixed(3));

/** List items; `undefined` instead of an empty list. */
export const list = (items: readonly string[]): string | undefined =>
  items.length === 0 ? undefined : items.map((item) => `- ${item}`).join("\n");

/** Paragraphs and lists one under the other; what is `undefined` is left out. */
export const page = (...blocks: readonly (string | undefined)[]): string =>
  `${blocks.filter((block) => block !== undefined).join("\n\n")}\n`;
