/**
 * Quotes text of people inside a line of the service: on one line, without invisible characters, in quotation marks that the
 * text cannot close. So no text can look like another line, a record, a code fence or the end of its quotation.
 */
import { INVISIBLE } from "./invisible.ts";

/** White space and control characters; each run becomes one space. */
const WHITE_SPACE = /[\p{Cc}\p{Z}]+/gu;
const ALL_INVISIBLE = new RegExp(INVISIBLE.source, "gu");
/** Characters that look like a double quotation mark. */
const QUOTATION_MARKS = /["“”„‟″‶〝〞〟＂❝❞⹂]/gu;
/** Code fences of Markdown. */
const FENCES = /`{3,}|~{3,}/g;
/** One word, such as a name or an id, which needs no quotation marks. */
const WORD = /^[\p{L}\p{M}\p{N}._@:/+-]{1,100}$/u;

/** Puts text on one line, without invisible characters. */
export const toOneLine = (text: string): string => text.replace(WHITE_SPACE, " ").replace(ALL_INVISIBLE, "").trim();

/** Puts prose of people in quotation marks; a longer text is cut to `maxLength` characters and ends in `…`. */
export function quote(text: string, maxLength = Infinity): string {
  const line = toOneLine(text)
    .replace(QUOTATION_MARKS, "'")
    .replace(FENCES, (fence) => "'".repeat(fence.length));
  return line.length > maxLength ? `“${cut(line, maxLength)}…”` : `“${line}”`;
}

/** Cuts a text to `length` characters; a character of two code units that would be halved is left out. */
const cut = (text: string, length: number): string =>
  text
    .slice(0, length)
    .toWellFormed()
    .replace(/\ufffd$/, "");

/** Shows a name of a person, a tenant or a KPI: one word as it is, anything else in quotation marks. */
export const label = (name: string): string => (WORD.test(name) ? name : quote(name, 100));

/** Shortens a line of the service to `maxLength` characters; an open quotation is closed. */
export function shorten(line: string, maxLength: number): string {
  if (line.length <= maxLength) return line;
  const head = cut(line, maxLength);
  return `${head}…${head.lastIndexOf("“") > head.lastIndexOf("”") ? "”" : ""}`;
}
