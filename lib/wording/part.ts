/** Sentences in parts: fixed words of the service, and foreign text, which each user interface formats in its own way. */
import { label, quote } from "../kit/quote.ts";

/** Text that the service did not write: a name, an id (`code`) or prose (`quoted`). */
export interface ForeignText {
  text: string;
  code?: true;
  quoted?: true;
}
export type Part = string | ForeignText;

const MAX_PROSE_LENGTH = 1200;

/** Formats foreign text on one line: prose and names of several words in quotation marks. */
export const showForeignText = ({ text, quoted }: ForeignText, maxLength = MAX_PROSE_LENGTH): string =>
  quoted ? quote(text, maxLength) : label(text);

/** Joins parts to text; `show` formats foreign text. */
export const joinParts = (
  parts: readonly Part[],
  show: (part: ForeignText) => string = (part) => showForeignText(part),
): string => parts.map((part) => (typeof part === "string" ? part : show(part))).join("");

/** Capitalizes the first letter of a sentence that begins with fixed words. */
export function capitalize(parts: readonly Part[]): Part[] {
  const [first, ...rest] = parts;
  return typeof first === "string" ? [first.charAt(0).toUpperCase() + first.slice(1), ...rest] : [...parts];
}
