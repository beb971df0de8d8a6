/** Line and column of the first fault in a JSON text; browsers word these errors differently, some without a position. */

const WORDS = /^(?:true|false|null)(?![\w$])/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/;
// oxlint-disable-next-line no-control-regex -- JSON allows no control characters in a string
const STRING = /^"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/;

class Fault extends Error {
  constructor(
    readonly at: number,
    message: string,
  ) {
    super(message);
  }
}

/** Returns "Line 1, column 34: …"; undefined for valid JSON. */
export function findJsonFault(text: string): string | undefined {
  try {
    const end = skipSpace(text, readValue(text, skipSpace(text, 0)));
    if (end < text.length) throw new Fault(end, `unexpected ${describeCharacter(text, end)} after the value`);
    return undefined;
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    const before = text.slice(0, fault.at).split("\n");
    return `Line ${before.length}, column ${before.at(-1)!.length + 1}: ${fault.message}.`;
  }
}

const skipSpace = (text: string, at: number): number => at + /^[ \t\n\r]*/.exec(text.slice(at))![0].length;

function describeCharacter(text: string, at: number): string {
  if (at >= text.length) return "end";
  return text[at] === "," ? "comma" : text[at]!;
}

/** Returns the offset after the value that begins at `at`. Errors: `Fault`. */
function readValue(text: string, at: number): number {
  const first = text[at];
  if (first === "{") return readList(text, at, "}", readMember);
  if (first === "[") return readList(text, at, "]", readValue);
  const found = [STRING, NUMBER, WORDS].map((form) => form.exec(text.slice(at))).find(Boolean);
  if (found) return at + found[0].length;
  if (first === '"') throw new Fault(at, "this text has no closing quote, or a character that needs a backslash");
  if (first !== undefined && /[\p{L}'_]/u.test(first)) throw new Fault(at, "text needs double quotes");
  throw new Fault(at, `unexpected ${describeCharacter(text, at)}`);
}

function readMember(text: string, at: number): number {
  if (text[at] !== '"') throw new Fault(at, "a name in double quotes is expected");
  const colon = skipSpace(text, readValue(text, at));
  if (text[colon] !== ":") throw new Fault(colon, "a colon is expected after the name");
  return readValue(text, skipSpace(text, colon + 1));
}

function readList(text: string, start: number, close: string, readItem: typeof readValue): number {
  let at = skipSpace(text, start + 1);
  if (text[at] === close) return at + 1;
  for (;;) {
    at = skipSpace(text, readItem(text, at));
    if (text[at] === close) return at + 1;
    if (text[at] !== ",") throw new Fault(at, `a comma or ${close} is expected`);
    const comma = at;
    at = skipSpace(text, at + 1);
    if (text[at] === close) throw new Fault(comma, "unexpected comma before the end");
  }
}
