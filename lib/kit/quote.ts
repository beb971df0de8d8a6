/**
 * Quotes text of people inside one line of ours: on that one line, between quotation marks that nothing in it closes, without
 * invisible characters. No text can pass for a line, a record, a fence or the end of its own quotation.
 */
import { INVISIBLE } from "./invisible.ts";

/** White space and controls of all kinds: each run becomes one space. */
const WHITE_SPACE = /[\p{Cc}\p{Z}]+/gu;
const ALL_INVISIBLE = new RegExp(INVISIBLE.source, "gu");
/** Everything that looks like a double quotation mark. */
const QUOTATION_MARKS = /["“”„‟″‶〝〞〟＂❝❞⹂]/gu;
/** As Markdown fences code. */
const FENCES = /`{3,}|~{3,}/g;
/** One word, such as a name or an id: without spaces or quotation marks it says nothing beside itself. */
const WORD = /^[\p{L}\p{M}\p{N}._@:/+-]{1,100}$/u;

/** Text on one line, without characters that nobody sees. */
export const toOneLine = (text: string): string => text.replace(WHITE_SPACE, " ").replace(ALL_INVISIBLE, "").trim();

/** Prose that somebody wrote, in quotation marks; of a long one its first `most` characters, and a mark that it goes on. */
export function quote(text: string, maxLength = Infinity): string {
  const line = toOneLine(text)
    .replace(QUOTATION_MARKS, "'")
    .replace(FENCES, (fence) => "'".repeat(fence.length));
  return `“${
    line.length > maxLength
      ? `${line
          .slice(0, maxLength)
          .toWellFormed()
          .replace(/\ufffd$/, "")}…`
      : line
  }”`;
}

/** A name of a person, a tenant or a KPI: as it is when it is one word, quoted when it could be read as more. */
export const label = (name: string): string => (WORD.test(name) ? name : quote(name, 100));

/** A line of ours shortened to `most` characters; a quotation that was open is closed. */
export function shorten(line: string, maxLength: number): string {
  if (line.length <= maxLength) return line;
  const head = line
    .slice(0, maxLength)
    .toWellFormed()
    .replace(/\ufffd$/, "");
  return `${head}…${head.lastIndexOf("“") > head.lastIndexOf("”") ? "”" : ""}`;
}
