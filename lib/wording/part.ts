/** A sentence in parts: our words, and what others wrote, which each surface isolates in its own way. */
import { label, quote } from "../kit/quote.ts";

/** Text that somebody else wrote: a name, an id (`code`) or prose (`quoted`). */
export interface ForeignText {
  given: string;
  code?: true;
  quoted?: true;
}
export type Part = string | ForeignText;

const MAX_PROSE = 1200;

/** Shows text that others wrote on one line: a name of one word as it is, anything else in quotation marks. */
export const showForeignText = ({ given, quoted }: ForeignText, maxLength = MAX_PROSE): string =>
  quoted ? quote(given, maxLength) : label(given);

/** Joins parts to text; `show` isolates what others wrote. */
export const joinParts = (
  parts: readonly Part[],
  show: (part: ForeignText) => string = (part) => showForeignText(part),
): string => parts.map((part) => (typeof part === "string" ? part : show(part))).join("");

/** Begins a sentence with a capital, where it begins with our words. */
export const capitalize = ([first, ...rest]: readonly Part[]): Part[] =>
  typeof first === "string" ? [first.charAt(0).toUpperCase() + first.slice(1), ...rest] : first ? [first, ...rest] : [];
