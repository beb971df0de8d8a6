/** Checks whether two patterns of targets can match the same target. */
import { normalizeTarget } from "./target_key.ts";

/** Returns true if some target matches both patterns; `*` stands for any characters. */
export function hasOverlap(one: string, other: string): boolean {
  const [a, b] = [normalizeTarget(one), normalizeTarget(other)];
  // Reachable positions in the second pattern, after each character of the first.
  let reached = skipStars(new Set([0]), b);
  for (const character of a) {
    const next = new Set<number>();
    if (character === "*") for (let at = Math.min(...reached); at <= b.length; at++) next.add(at);
    else
      for (const at of reached) {
        if (b[at] === "*") next.add(at);
        if (b[at] === character) next.add(at + 1);
      }
    if (next.size === 0) return false;
    reached = skipStars(next, b);
  }
  return reached.has(b.length);
}

function skipStars(positions: Set<number>, pattern: string): Set<number> {
  for (const at of positions) if (pattern[at] === "*") positions.add(at + 1);
  return positions;
}
