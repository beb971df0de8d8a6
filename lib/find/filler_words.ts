/** Words that carry no subject: a search for the words of a question leaves them out. */
import { queryTerms } from "../memory/tokens.ts";

/** Words of a question that a search ignores, since they do not describe its subject. */
export const FILLER_WORDS: ReadonlySet<string> = new Set(
  "a an the is are was were be been am what what's whats which who how do does did i my me we us our you your it its this that there now right currently please show tell list give of for to on in at by with from or and if any all anything anybody anyone something everything have has had can could change changes changed still about things service product system here".split(
    " ",
  ),
);

/** Search terms of the filler words. */
export const FILLER_TERMS: ReadonlySet<string> = new Set([...FILLER_WORDS].flatMap(queryTerms));
