/**
 * Quotes text of people inside one line of ours: on that one line, between quotation marks that nothing in it closes, without
 * invisible characters. No text can pass for a line, a record, a fence or the end of its own quotation.
 */
import { INVISIBLE } from "./invisible.ts";

/** White space and controls of all kinds: each run becomes one space. */
const BREAKS = /[\p{Cc}\p{Z}]+/gu;
const UNSEEN = new RegExp(INVISIBLE.source, "gu");
/** Everything that looks like a double quotation mark. */
const MARKS = /["“”„‟″‶〝〞〟＂❝❞⹂]/gu;
/** As Markdown fences code. */
const FENCES = /`{3,}|~{3,}/g;
/** One word, such as a name or an id: without spaces or quotation marks it says nothing beside itself. */
const WORD = /^[\p{L}\p{M}\p{N}._@:/+-]{1,100}$/u;

/** Text on one line, without characters that nobody sees. */
export const oneLine = (text: string): string => text.replace(BREAKS, " ").replace(UNSEEN, "").trim();

/** Prose that somebody wrote, in quotation marks; of a long one its first `most` characters, and a mark that it goes on. */
export function quote(text: string, most = Infinity): string {
  const line = oneLine(text)
    .replace(MARKS, "'")
    .replace(FENCES, (fence) => "'".repeat(fence.length));
  return `“${
    line.length > most
      ? `${line
          .slice(0, most)
          .toWellFormed()
          .replace(/\ufffd$/, "")}…`
      : line
  }”`;
}

/** A name of a person, a tenant or a KPI: as it is when it is one word, quoted when it could be read as more. */
export const label = (name: string): string => (WORD.test(name) ? name : quote(name, 100));

/** A line of ours shortened to `most` characters; a quotation that was open is closed. */
export function shorten(line: string, most: number): string {
  if (line.length <= most) return line;
  const head = line
    .slice(0, most)
    .toWellFormed()
    .replace(/\ufffd$/, "");
  return `${head}…${head.lastIndexOf("“") > head.lastIndexOf("”") ? "”" : ""}`;
}
