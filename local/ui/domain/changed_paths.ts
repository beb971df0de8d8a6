/** The members in which two JSON values differ: "limits.per_day 400 → 900". */

/** A member that differs; an absent side is `undefined`. */
export interface ChangedPath {
  path: string;
  before: string | undefined;
  after: string | undefined;
}

/** Longer texts are cut to the part that differs. */
const MAX_SHOWN = 60;
const CONTEXT = 16;

/** Lists the members that differ between two JSON texts; undefined where either is no object or list. */
export function listChangedPaths(before: string, after: string): ChangedPath[] | undefined {
  const [a, b] = [parseContainer(before), parseContainer(after)];
  return a && b && [...compare("", a, b)];
}

type Container = Readonly<Record<string, unknown>>;

function parseContainer(text: string): Container | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isContainer(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isContainer = (value: unknown): value is Container => typeof value === "object" && value !== null;

function* compare(path: string, a: unknown, b: unknown): Generator<ChangedPath> {
  if (isContainer(a) && isContainer(b) && Array.isArray(a) === Array.isArray(b)) {
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)]))
      yield* compare(joinPath(path, name, Array.isArray(a)), getOwn(a, name), getOwn(b, name));
    return;
  }
  const [before, after] = [JSON.stringify(a), JSON.stringify(b)];
  if (before !== after) yield { path, ...cutToDifference(before, after) };
}

const getOwn = (value: Container, name: string): unknown => (Object.hasOwn(value, name) ? value[name] : undefined);

function joinPath(path: string, name: string, isIndex: boolean): string {
  if (isIndex) return `${path}[${name}]`;
  if (!/^[\w$-]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path ? `${path}.${name}` : name;
}

/** Cuts long texts to the part in which they differ, with `CONTEXT` characters before and after it. */
function cutToDifference(before: string | undefined, after: string | undefined): Pick<ChangedPath, "before" | "after"> {
  const maxLength = Math.max(before?.length ?? 0, after?.length ?? 0);
  if (maxLength <= MAX_SHOWN) return { before, after };
  const [a, b] = [before ?? "", after ?? ""];
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let equalEnd = 0;
  while (equalEnd < Math.min(a.length, b.length) - start && a.at(-1 - equalEnd) === b.at(-1 - equalEnd)) equalEnd++;
  const cut = (text: string | undefined): string | undefined => {
    if (text === undefined) return undefined;
    const from = Math.max(0, start - CONTEXT);
    const to = Math.min(text.length, Math.max(text.length - equalEnd, start) + CONTEXT, from + 2 * MAX_SHOWN);
    return `${from > 0 ? "…" : ""}${text.slice(from, to)}${to < text.length ? "…" : ""}`.toWellFormed();
  };
  return { before: cut(before), after: cut(after) };
}
