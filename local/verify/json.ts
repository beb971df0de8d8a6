/** JSON as both verifiers read it: well-formed Unicode, of a depth that every reader can follow. */

/** Levels of nesting; the service itself takes 64. */
const MAX_DEPTH = 100;

/** The members of a JSON object. */
export type Detail = Readonly<Record<string, unknown>>;

/** Parses JSON. Errors: `SyntaxError`, also for text that is not well-formed Unicode or is nested too deep. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError("it is nested too deep");
  const value: unknown = JSON.parse(text);
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
  if (text.split(/[[{]/, MAX_DEPTH + 2).length <= MAX_DEPTH + 1) return false;
  let depth = 0;
  for (const [bracket] of text.replace(STRING, "").matchAll(/[[\]{}]/g))
    if (bracket === "]" || bracket === "}") depth--;
    else if (++depth > MAX_DEPTH) return true;
  return false;
}

/** Checks that a value has members by name. */
export const isObject = (value: unknown): value is Detail =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Parses the text of a JSON object; undefined where it is none. */
export function parseObject(text: string): Detail | undefined {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const MEMBER_NAME = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/gs;

/** Checks that an object of JSON text has a member twice, at any depth: `JSON.parse` takes the last one. */
export function hasRepeatedMember(text: string): boolean {
  const names = [...text.matchAll(MEMBER_NAME)].filter(([, colon]) => colon !== undefined);
  return names.length !== countMembers(parseJson(text));
}

const countMembers = (value: unknown): number =>
  typeof value !== "object" || value === null
    ? 0
    : Object.values(value).reduce(
        (sum: number, member) => sum + countMembers(member),
        Array.isArray(value) ? 0 : Object.keys(value).length,
      );

/** A value where it is text. */
export const asText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Checks that a value is a whole number that every reader reads alike. */
export const isWhole = (value: unknown, least: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least;
