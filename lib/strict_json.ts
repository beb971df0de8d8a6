/** JSON.parse takes the last of a repeated member and lets lone surrogates through; neither can be consented to. */

/** Thrown with a sentence that says what is wrong; holds no part of the text but member names. */
export class JsonRefused extends Error {
  override readonly name = "JsonRefused";
}

/** Parses JSON; refuses malformed text, a repeated member at any depth, and text that is not well-formed Unicode. */
export function parseStrictJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new JsonRefused("is not valid JSON");
  }
  refuseRepeatedMembers(text);
  if (!isWellFormed(value)) throw new JsonRefused("holds text that is not well-formed Unicode");
  return value;
}

/** Whether every string in a JSON value, member names included, is well-formed Unicode. */
export function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, member]) => key.isWellFormed() && isWellFormed(member));
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],]/g;

/** `text` is known to be JSON, so a string that opens a member of an object is its name. */
function refuseRepeatedMembers(text: string): void {
  const open: (Set<string> | null)[] = [];
  let nameExpected = false;
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === "{" || token === "[") {
      open.push(token === "{" ? new Set() : null);
      nameExpected = token === "{";
    } else if (token === "}" || token === "]") {
      open.pop();
      nameExpected = false;
    } else if (token === ",") {
      nameExpected = open.at(-1) instanceof Set;
    } else if (nameExpected) {
      const name = JSON.parse(token) as string;
      const names = open.at(-1)!;
      if (names!.has(name)) throw new JsonRefused(`repeats the member ${JSON.stringify(name)}`);
      names!.add(name);
      nameExpected = false;
    }
  }
}
