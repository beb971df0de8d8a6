/** Compares the output that a document shows with the actual output. */
import type { RunValues } from "./run_values.ts";

/** Describes the difference; undefined if there is none. Compares JSON by its members, other text by its characters. */
export function findDifference(shown: string, actual: string, runValues: RunValues): string | undefined {
  const shownJson = /^[{[]/.test(shown) ? parseShownJson(shown) : undefined;
  if (shownJson === undefined)
    return runValues.matches(shown, actual.trim()) ? undefined : `it shows\n${shown}\nand the output is\n${actual}`;
  let actualJson: unknown;
  try {
    actualJson = JSON.parse(actual);
  } catch {
    return `it shows JSON, and the output is\n${actual}`;
  }
  const difference = compareValues(shownJson, actualJson, "", runValues);
  return difference && `${difference}; the output is\n${actual}`;
}

/** Stands for members, elements or a value that are not shown. */
const MORE = "…";

function compareValues(shown: unknown, actual: unknown, path: string, runValues: RunValues): string | undefined {
  const at = path === "" ? "it" : path;
  if (shown === MORE) return undefined;
  if (typeof shown === "string" && typeof actual === "string")
    return runValues.matches(shown, actual) ? undefined : describeDifference(at, shown, actual);
  if (Array.isArray(shown) && Array.isArray(actual)) return compareLists(shown, actual, at, runValues);
  if (isObject(shown) && isObject(actual)) return compareObjects(shown, actual, path, runValues);
  return Object.is(shown, actual) ? undefined : describeDifference(at, shown, actual);
}

function compareLists(shown: unknown[], actual: unknown[], at: string, runValues: RunValues): string | undefined {
  const more = shown.indexOf(MORE);
  const [first, last] = more < 0 ? [shown, []] : [shown.slice(0, more), shown.slice(more + 1)];
  if (more < 0 ? actual.length !== shown.length : actual.length < first.length + last.length)
    return `${at} has ${actual.length} elements, and ${shown.length} are shown`;
  const shownWithIndex = [
    ...first.map((element, index) => [element, index] as const),
    ...last.map((element, index) => [element, actual.length - last.length + index] as const),
  ];
  for (const [element, index] of shownWithIndex) {
    const difference = compareValues(element, actual[index], `${at}[${index}]`, runValues);
    if (difference) return difference;
  }
  return undefined;
}

type Members = Record<string, unknown>;
const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function compareObjects(shown: Members, actual: Members, path: string, runValues: RunValues): string | undefined {
  for (const [name, value] of Object.entries(shown)) {
    if (name === MORE) continue;
    const at = path === "" ? name : `${path}.${name}`;
    if (!Object.hasOwn(actual, name)) return `${at} is shown, and the output does not have it`;
    const difference = compareValues(value, actual[name], at, runValues);
    if (difference) return difference;
  }
  const missing = MORE in shown ? [] : Object.keys(actual).filter((name) => !Object.hasOwn(shown, name));
  return missing.length > 0
    ? `${path || "it"} has ${missing.join(", ")} too, which is not shown; show … for further members`
    : undefined;
}

const describeDifference = (at: string, shown: unknown, actual: unknown): string =>
  `${at} is ${JSON.stringify(actual)}, and ${JSON.stringify(shown)} is shown`;

/**
 * Parses JSON in which a bare `…` stands for further members or elements, or for a value; returns undefined for other text. A
 * bare `…` becomes `"…"` in a list or as a value, and the member `"…": "…"` in an object.
 */
export function parseShownJson(text: string): unknown {
  const openBrackets: string[] = [];
  let previousToken = "";
  const json = text.replace(/"(?:[^"\\]|\\.)*"|[{}[\]:,…]|[^\s"{}[\]:,…]+/g, (token, at: number) => {
    const nextCharacter = text.slice(at + token.length).trimStart()[0] ?? "";
    let replacement = token;
    if (token === "{" || token === "[") openBrackets.push(token);
    else if (token === "}" || token === "]") openBrackets.pop();
    else if (token === "…") {
      replacement = previousToken === ":" || openBrackets.at(-1) === "[" ? '"…"' : '"…":"…"';
      if (!",}]".includes(nextCharacter)) replacement += ",";
    }
    previousToken = token;
    return replacement;
  });
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
