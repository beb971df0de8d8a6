/** How names and targets compare: a look-alike of a different spelling is the same name. */

/** A person's name as it is compared: trimmed, NFKC, without case, of spaces one at a time; a final sigma is a sigma. */
export const sameName = (name: string): string =>
  name.normalize("NFKC").trim().toLowerCase().normalize("NFKC").replaceAll(/\s+/g, " ").replaceAll("\u03c2", "\u03c3");

/** A target as it is compared: without case. */
export const sameTarget = (target: string): string => target.toLowerCase();

/** Whether a target falls under a pattern of the intent; `*` stands for any characters. */
export const matchesPattern = (target: string, pattern: string): boolean => compiled([pattern]).test(target);

/** An intent's patterns, compiled once: they are the same list for as long as it is in force. */
const known = new WeakMap<readonly string[], RegExp>();

/** Whether a target falls under any of the patterns. */
export function matchesAny(target: string, patterns: readonly string[]): boolean {
  let any = known.get(patterns);
  if (!any) known.set(patterns, (any = compiled(patterns)));
  return any.test(target);
}

/** Without patterns nothing matches: a look-ahead that fails everywhere. */
const compiled = (patterns: readonly string[]): RegExp =>
  patterns.length === 0 ? /(?!)/ : new RegExp(`^(?:${patterns.map(sourceOf).join("|")})$`, "i");

const sourceOf = (pattern: string): string =>
  pattern
    .split("*")
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"))
    .join(".*");
