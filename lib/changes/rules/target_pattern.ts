/** Patterns of targets: which of them match nothing, and which lie within another. */
import { normalizeTarget } from "./target_key.ts";

/** The form of every target, for messages. */
const TARGET_FORM = "a target is like billing.plan or ui/banner: it begins with a letter or digit and ends without /";

/** The reason why no valid target matches a pattern, with the likely intended one; undefined where some target matches. */
export function explainUnmatchable(pattern: string): string | undefined {
  const problem = findProblem(pattern);
  if (problem === undefined) return undefined;
  const meant = intendedPattern(pattern);
  return `matches no target, since ${problem}; ${TARGET_FORM}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
}

function findProblem(pattern: string): string | undefined {
  if (/^[^A-Za-z0-9*]/.test(pattern)) return `no target begins with ${pattern[0]}`;
  if (pattern.endsWith("/")) return "no target ends with /";
  const dots = /\/(\.\.?)(?:\/|$)/.exec(pattern);
  return dots ? `no target has a part that is ${dots[1]}` : undefined;
}

/** Paths of other tools begin with `/`, and their folders end with it. */
function intendedPattern(pattern: string): string | undefined {
  const meant = pattern.replace(/^\/+/, "").replace(/\/+$/, "/*");
  return meant !== pattern && meant !== "" && findProblem(meant) === undefined ? meant : undefined;
}

/** Returns true where every target that a pattern matches falls under one of these patterns. */
export const isCovered = (pattern: string, by: readonly string[]): boolean =>
  // A `*` of the pattern is text here, which only a `*` of the other can match.
  by.some((other) => matchesPattern(pattern, other));

/** Returns whether a target matches a pattern; `*` stands for any characters. */
export const matchesPattern = (target: string, pattern: string): boolean =>
  matchWildcard(target, pattern) !== undefined;

/**
 * Returns what the last `*` of a pattern stands for in a target, or the target for a pattern without one; undefined where it does
 * not match. In one pass, since any caller may send a pattern.
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

/** Returns what the last `*` of the first pattern that covers a target stands for; undefined where none does. */
export function findWildcard(target: string, patterns: readonly string[]): string | undefined {
  for (const pattern of patterns) {
    const rest = matchWildcard(target, pattern);
    if (rest !== undefined) return rest;
  }
  return undefined;
}

/** Returns whether a target matches one of the patterns. */
export const matchesAny = (target: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => matchesPattern(target, pattern));
