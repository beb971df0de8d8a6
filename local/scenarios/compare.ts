/** Compares an answer with the members that a scenario expects of it. */

/** A member that is not as expected. */
export interface Difference {
  /** Within `expect`. */
  path: readonly PropertyKey[];
  message: string;
}

/** Lists where an answer lacks something that is expected of it: a member, a value, an item of a list. */
export function compare(expected: unknown, found: unknown, path: readonly PropertyKey[] = []): Difference[] {
  if (Array.isArray(expected)) return compareLists(expected, found, path);
  if (!isObject(expected))
    return Object.is(expected ?? null, found ?? null) ? [] : [{ path, message: said(expected, found) }];
  if (!isObject(found)) return [{ path, message: said(expected, found) }];
  return Object.entries(expected).flatMap(([name, inner]) => compare(inner, memberOf(found, name), [...path, name]));
}

/** Each item of what is expected needs an item of its own that has all of it; an empty list is expected to be empty. */
function compareLists(expected: readonly unknown[], found: unknown, path: readonly PropertyKey[]): Difference[] {
  if (!Array.isArray(found) || (expected.length === 0 && found.length > 0))
    return [{ path, message: said(expected, found) }];
  const left = [...found];
  return expected.flatMap((item, index) => {
    const same = left.findIndex((other) => compare(item, other).length === 0);
    if (same !== -1) {
      left.splice(same, 1);
      return [];
    }
    return [{ path: [...path, index], message: `expected an item ${shown(item)}, got ${shown(found)}` }];
  });
}

/** Returns a member by its name, or by several with dots between them. */
function memberOf(object: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const dot = name.indexOf(".");
  const inner = dot > 0 && Object.hasOwn(object, name.slice(0, dot)) ? object[name.slice(0, dot)] : undefined;
  return isObject(inner) ? memberOf(inner, name.slice(dot + 1)) : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const said = (expected: unknown, found: unknown): string => `expected ${shown(expected)}, got ${shown(found)}`;

const shown = (value: unknown): string => (value === undefined ? "nothing" : JSON.stringify(value));
