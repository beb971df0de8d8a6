/** Parses JSON text of other programs without loss, so that a rollback can restore it. */
import { parseExactJson } from "./product_config.ts";
import { FileUnusable } from "./file_error.ts";
import { isObject } from "./json_object.ts";

/** The only member of a value that stands for text that cannot be read exactly. */
const UNPARSED = "unparsed";

/** Parses text; what is not JSON, or would be rounded, is `{ unparsed: text }`, so that it can be shown and replaced. */
export function parseForeignText(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof FileUnusable) return { [UNPARSED]: text };
    throw error;
  }
}

/** Explains why a value would be taken for text that cannot be read. */
export const findUnparsedProblem = (value: unknown): string | undefined =>
  isObject(value) && Object.keys(value).join() === UNPARSED
    ? `an object with the only member ${UNPARSED} stands for text that is no JSON; add another member`
    : undefined;
