/** Patterns of targets: matching, and patterns that match nothing or are covered by another. */
import { normalizeTarget } from "./target_key.ts";

/** The form of every target, for messages. */
const TARGET_FORM = "a target is like billing.plan or ui/banner: it begins with a letter or digit and ends without /";

/** Explains why no valid target matches a pattern, and suggests another; undefined if some target matches. */
export function explainUnmatchable(pattern: string): string | undefined {
  const problem = findProblem(pattern);
  if (problem === undefined) return undefined;
  const suggestion = suggestPattern(pattern);
  const question = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
  return `matches no target, since ${problem}; ${TARGET_FORM}${question}`;
}

function findProblem(pattern: string): string | undefined {
  if (/^[^A-Za-z0-9*]/.test(pattern)) return `no target begins with ${pattern[0]}`;
  if (pattern.endsWith("/")) return "no target ends with /";
  const dots = /\/(\.\.?)(?:\/|$)/.exec(pattern);
  return dots ? `no target has a part that is ${dots[1]}` : undefined;
}

/** Returns the likely intended pattern: in other tools, paths begin with `/` and folders end with it. */
function suggestPattern(pattern: string): string | undefined {
  const suggestion = pattern.replace(/^\/+/, "").replace(/\/+$/, "/*");
  const isUsable = suggestion !== pattern && suggestion !== "" && findProblem(suggestion) === undefined;
  return isUsable ? suggestion : undefined;
}

/** Returns true if one of the other patterns matches every target that the pattern matches. */
export const isCovered = (pattern: string, others: readonly string[]): boolean =>
  // The `*` of `pattern` is treated as text, which only a `*` of the other pattern can match.
  others.some((other) => matchesPattern(pattern, other));

export const matchesPattern = (target: string, pattern: string): boolean =>
  matchWildcard(target, pattern) !== undefined;

/**
 * Returns the part of a target that the last `*` of a pattern matches, or the target if the pattern has none; undefined if it
 * does not match. Any caller may send a pattern, so this takes one pass instead of a regular expression that may backtrack.
 */
export function matchWildcard(target: string, pattern: string): string | undefined {
  const [begin, ...parts] = normalizeTarget(pattern).split("*") as [string, ...string[]];
  const text = normalizeTarget(target);
  const end = parts.pop();
  if (end === undefined) return text === begin ? target : undefined;
  if (!text.startsWith(begin) || !text.endsWith(end)) return undefined;
  let from = begin.length;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at === -1) return undefined;
    from = at + part.length;
  }
  const until = text.length - end.length;
  return from <= until ? target.slice(from, until) : undefined;
}

/** Returns the part of a target that the last `*` of the first matching pattern matches; undefined if none matches. */
export function findWildcard(target: string, patterns: readonly string[]): string | undefined {
  for (const pattern of patterns) {
    const wildcard = matchWildcard(target, pattern);
    if (wildcard !== undefined) return wildcard;
  }
  return undefined;
}

/** Returns true if a target matches one of the patterns. */
export const matchesAny = (target: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => matchesPattern(target, pattern));
