/** Compares what a document shows with what came. */
import type { StandIns } from "./stand_ins.ts";

/** Describes the difference; undefined if there is none. Compares JSON by its members, other text by its letters. */
export function difference(shown: string, actual: string, standIns: StandIns): string | undefined {
  const json = /^[{[]/.test(shown) ? parseShown(shown) : undefined;
  if (json === undefined)
    return standIns.matches(shown, actual.trim()) ? undefined : `it shows\n${shown}\nand what came is\n${actual}`;
  let came: unknown;
  try {
    came = JSON.parse(actual);
  } catch {
    return `it shows JSON, and what came is\n${actual}`;
  }
  const found = compared(json, came, "", standIns);
  return found && `${found}; what came is\n${actual}`;
}

/** Stands for members, elements or a value that are not shown. */
const MORE = "…";

function compared(shown: unknown, actual: unknown, path: string, standIns: StandIns): string | undefined {
  const at = path === "" ? "it" : path;
  if (shown === MORE) return undefined;
  if (typeof shown === "string" && typeof actual === "string")
    return standIns.matches(shown, actual) ? undefined : differs(at, shown, actual);
  if (Array.isArray(shown) && Array.isArray(actual)) return comparedLists(shown, actual, at, standIns);
  if (isObject(shown) && isObject(actual)) return comparedObjects(shown, actual, path, standIns);
  return Object.is(shown, actual) ? undefined : differs(at, shown, actual);
}

function comparedLists(shown: unknown[], actual: unknown[], at: string, standIns: StandIns): string | undefined {
  const more = shown.indexOf(MORE);
  const [first, last] = more < 0 ? [shown, []] : [shown.slice(0, more), shown.slice(more + 1)];
  if (more < 0 ? actual.length !== shown.length : actual.length < first.length + last.length)
    return `${at} has ${actual.length} elements, and ${shown.length} are shown`;
  const pairs = [
    ...first.map((each, index) => [each, index] as const),
    ...last.map((each, index) => [each, actual.length - last.length + index] as const),
  ];
  for (const [each, index] of pairs) {
    const found = compared(each, actual[index], `${at}[${index}]`, standIns);
    if (found) return found;
  }
  return undefined;
}

type Members = Record<string, unknown>;
const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function comparedObjects(shown: Members, actual: Members, path: string, standIns: StandIns): string | undefined {
  for (const [name, value] of Object.entries(shown)) {
    if (name === MORE) continue;
    const at = path === "" ? name : `${path}.${name}`;
    if (!Object.hasOwn(actual, name)) return `${at} is shown, and did not come`;
    const found = compared(value, actual[name], at, standIns);
    if (found) return found;
  }
  const missing = MORE in shown ? [] : Object.keys(actual).filter((name) => !Object.hasOwn(shown, name));
  return missing.length > 0
    ? `${path || "it"} has ${missing.join(", ")} too, which is not shown; … would say so`
    : undefined;
}

const differs = (at: string, shown: unknown, actual: unknown): string =>
  `${at} is ${JSON.stringify(actual)}, and ${JSON.stringify(shown)} is shown`;

/** JSON as people show it: a bare `…` stands for further members or elements, or for a value. Undefined when it is none. */
export function parseShown(text: string): unknown {
  const open: string[] = [];
  let before = "";
  const whole = text.replace(/"(?:[^"\\]|\\.)*"|[{}[\]:,…]|[^\s"{}[\]:,…]+/g, (token, at: number) => {
    const after = text.slice(at + token.length).trimStart()[0] ?? "";
    let written = token;
    if (token === "{" || token === "[") open.push(token);
    else if (token === "}" || token === "]") open.pop();
    else if (token === "…") {
      written = before === ":" || open.at(-1) === "[" ? '"…"' : '"…":"…"';
      if (!",}]".includes(after)) written += ",";
    }
    before = token;
    return written;
  });
  try {
    return JSON.parse(whole);
  } catch {
    return undefined;
  }
}
