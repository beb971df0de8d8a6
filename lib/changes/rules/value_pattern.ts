/** Patterns of text in the schema of a value: a subset of regular expressions that is fast in every engine. */

const CLASS = /^\[(?:[^\][\\^-]|\\[\\\][^$.*+?(){}|/-]|\\[dw]|-)+\]/u;
const ESCAPE = /^\\(?:[\\^$.*+?()[\]{}|/]|[dw])/u;
const LITERAL = /^[^\\^$.*+?()[\]{}|]/u;
const COUNT = /^\{(\d{1,3})(?:,(\d{1,3}))?\}/u;

const MAX_REPEATS = 256;
/** Each range such as {1,20} multiplies the ways in which a text may match. */
const MAX_RANGES = 2;

/** Explains why a schema may not have a pattern; undefined if it may. */
export function findPatternProblem(pattern: string): string | undefined {
  // An escaped $ at the end is no anchor.
  if (!pattern.startsWith("^") || !/(?<!\\)(?:\\\\)*\$$/u.test(pattern)) return "must begin with ^ and end with $";
  let rest = pattern.slice(1, -1);
  let ranges = 0;
  while (rest !== "") {
    // `CLASS` takes no ^ after [: it is left out here, and counted again below.
    const atom = CLASS.exec(rest.replace(/^\[\^/u, "["))?.[0] ?? ESCAPE.exec(rest)?.[0] ?? LITERAL.exec(rest)?.[0];
    if (atom === undefined)
      return `has ${JSON.stringify([...rest][0])}, which no pattern may; use characters, classes such as [a-z0-9] and counts such as {1,20}`;
    rest = rest.slice(atom.length + (rest.startsWith("[^") ? 1 : 0));
    const [count, from, to = from] = COUNT.exec(rest) ?? [];
    if (count === undefined) continue;
    rest = rest.slice(count.length);
    if (Number(to) > MAX_REPEATS) return `repeats more than ${MAX_REPEATS} times`;
    if (Number(from) > Number(to)) return `counts from ${from} down to ${to}`;
    if (from !== to && ++ranges > MAX_RANGES) return `has more than ${MAX_RANGES} ranges such as {1,20}`;
  }
  return isRegularExpression(pattern) ? undefined : "is no regular expression";
}

function isRegularExpression(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u") instanceof RegExp;
  } catch {
    return false;
  }
}
