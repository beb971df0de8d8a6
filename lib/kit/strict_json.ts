/** Parses JSON strictly: `JSON.parse` accepts repeated members and lone surrogates, and a person cannot consent to those. */

/**
 * The text is not acceptable JSON. The message contains only member names of the text; `cause`, the parser's error, may
 * contain more.
 */
export class JsonRejected extends Error {
  override readonly name = "JsonRejected";
}

/** Maximum depth: more than any setting of a product needs, and far below the limit of recursion. */
const MAX_DEPTH = 64;

/**
 * Parses JSON; rejects malformed text, a repeated member at any depth, nesting beyond 64 levels, numbers beyond the
 * range of a double, and text that is not well-formed Unicode.
 */
export function parseStrictJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new JsonRejected("is not valid JSON", { cause });
  }
  if (countQuotes(value, 0) !== countQuoteCharacters(text)) rejectRepeatedMember(text);
  return value;
}

/**
 * Counts the quotation marks that the JSON of a value has, and rejects values that are too deep, too large or not well-formed.
 * A repeated member or an escaped quote adds marks to the text; if the text has no more than the value, no second
 * pass is needed.
 */
function countQuotes(value: unknown, depth: number): number {
  if (typeof value === "string") {
    if (!value.isWellFormed()) throw new JsonRejected("holds text that is not well-formed Unicode");
    return 2;
  }
  if (typeof value === "number" && !Number.isFinite(value)) throw new JsonRejected("holds a number that is too large");
  if (typeof value !== "object" || value === null) return 0;
  if (depth === MAX_DEPTH) throw new JsonRejected(`is nested deeper than ${MAX_DEPTH} levels`);
  const isObject = !Array.isArray(value);
  let count = 0;
  for (const key in value) {
    if (isObject) count += countQuotes(key, depth);
    count += countQuotes((value as Record<string, unknown>)[key], depth + 1);
  }
  return count;
}

/** Character code of `"`. */
const QUOTE = 34;

function countQuoteCharacters(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) === QUOTE) count++;
  return count;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],]/g;

/** Rejects a repeated member in valid JSON. */
function rejectRepeatedMember(text: string): void {
  /** The open objects, with the names of their members so far, and open arrays as null. */
  const containers: (Set<string> | null)[] = [];
  let isNameNext = false;
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === "{" || token === "[") {
      containers.push(token === "{" ? new Set() : null);
      isNameNext = token === "{";
    } else if (token === "}" || token === "]") {
      containers.pop();
      isNameNext = false;
    } else if (token === ",") {
      isNameNext = containers.at(-1) instanceof Set;
    } else if (isNameNext) {
      const name = JSON.parse(token) as string;
      const names = containers.at(-1)!;
      if (names!.has(name)) throw new JsonRejected(`repeats the member ${JSON.stringify(name)}`);
      names!.add(name);
      isNameNext = false;
    }
  }
}
