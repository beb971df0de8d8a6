/** How names and targets compare: a look-alike of a different spelling is the same name. */

/** A person's name as it is compared: trimmed, NFKC, without case. */
export const sameName = (name: string): string => name.normalize("NFKC").trim().toLowerCase().normalize("NFKC");

/** A target as it is compared: without case. */
export const sameTarget = (target: string): string => target.toLowerCase();

/** Whether a target falls under a pattern of the intent; `*` stands for any characters. */
export function matchesPattern(target: string, pattern: string): boolean {
  const source = pattern
    .split("*")
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"))
    .join(".*");
  return new RegExp(`^${source}$`, "i").test(target);
}

/** Whether a target falls under any of the patterns. */
export const matchesAny = (target: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => matchesPattern(target, pattern));
