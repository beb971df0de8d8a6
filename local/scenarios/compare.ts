/** Compares an answer with the members that a scenario expects of it. */

/** A member that is not as expected. */
export interface Difference {
  /** Path within `expect`. */
  path: readonly PropertyKey[];
  message: string;
}

/** Lists the expected members, values and list items that an answer lacks. */
export function compare(expected: unknown, actual: unknown, path: readonly PropertyKey[] = []): Difference[] {
  if (Array.isArray(expected)) return compareLists(expected, actual, path);
  // An expected `null` matches `null` and a missing member.
  if (!isObject(expected))
    return Object.is(expected ?? null, actual ?? null) ? [] : [{ path, message: describeDifference(expected, actual) }];
  if (!isObject(actual)) return [{ path, message: describeDifference(expected, actual) }];
  return Object.entries(expected).flatMap(([name, inner]) => compare(inner, findMember(actual, name), [...path, name]));
}

/**
 * Compares lists: each expected item, in order, takes the first matching item that none before it has taken. An expected empty
 * list must be empty.
 */
function compareLists(expected: readonly unknown[], actual: unknown, path: readonly PropertyKey[]): Difference[] {
  if (!Array.isArray(actual) || (expected.length === 0 && actual.length > 0))
    return [{ path, message: describeDifference(expected, actual) }];
  const unmatched = [...actual];
  return expected.flatMap((item, index) => {
    const matchIndex = unmatched.findIndex((other) => compare(item, other).length === 0);
    if (matchIndex !== -1) {
      unmatched.splice(matchIndex, 1);
      return [];
    }
    return [{ path: [...path, index], message: `expected an item ${formatValue(item)}, got ${formatValue(actual)}` }];
  });
}

/** Returns a member by its name, or by several with dots between them. */
function findMember(object: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const dot = name.indexOf(".");
  const inner = dot > 0 && Object.hasOwn(object, name.slice(0, dot)) ? object[name.slice(0, dot)] : undefined;
  return isObject(inner) ? findMember(inner, name.slice(dot + 1)) : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const describeDifference = (expected: unknown, actual: unknown): string =>
  `expected ${formatValue(expected)}, got ${formatValue(actual)}`;

const formatValue = (value: unknown): string => (value === undefined ? "nothing" : JSON.stringify(value));
