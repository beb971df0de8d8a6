/** Parses JSON with the limits that both verifiers share: well-formed Unicode, at most 100 levels. */

/** Levels of nesting; the service itself accepts 64. */
const MAX_DEPTH = 100;

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Parses JSON. Errors: `SyntaxError`, also for text that is not well-formed Unicode or is nested too deep. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError("it is nested too deep");
  const value: unknown = JSON.parse(text);
  // Only the escape of a lone surrogate (\ud800 to \udfff) makes text that is not well-formed.
  if (/\\u[dD]/.test(text)) requireWellFormed(value);
  return value;
}

function requireWellFormed(value: unknown): void {
  if (typeof value === "string" && !value.isWellFormed())
    throw new SyntaxError("it holds text that is not well-formed Unicode");
  if (typeof value === "object" && value !== null)
    for (const [name, member] of Object.entries(value)) {
      requireWellFormed(name);
      requireWellFormed(member);
    }
}

const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/gs;

function isTooDeep(text: string): boolean {
  // Text with at most this many opening brackets cannot be too deep.
  if (text.split(/[[{]/, MAX_DEPTH + 2).length <= MAX_DEPTH + 1) return false;
  let depth = 0;
  for (const [bracket] of text.replace(STRING, "").matchAll(/[[\]{}]/g))
    if (bracket === "]" || bracket === "}") depth--;
    else if (++depth > MAX_DEPTH) return true;
  return false;
}

/** Checks that a value is a JSON object. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Parses text as a JSON object; undefined where it is not one. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Strings; group 1 is the colon after a member's name. */
const STRING_AND_COLON = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/gs;

/** Returns true if some object in JSON text has a member twice: `JSON.parse` would take the last one. */
export function hasRepeatedMember(text: string): boolean {
  const names = [...text.matchAll(STRING_AND_COLON)].filter(([, colon]) => colon !== undefined);
  return names.length !== countMembers(parseJson(text));
}

const countMembers = (value: unknown): number =>
  typeof value !== "object" || value === null
    ? 0
    : Object.values(value).reduce(
        (sum: number, member) => sum + countMembers(member),
        Array.isArray(value) ? 0 : Object.keys(value).length,
      );

/** Returns a value that is a string; undefined for any other. */
export const stringOrUndefined = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

/** Checks that a value is a safe integer of at least `min`. */
export const isIntegerAtLeast = (value: unknown, min: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= min;
