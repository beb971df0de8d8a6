/** Checks whether two patterns of targets can match the same target. */
import { normalizeTarget } from "./target_key.ts";

/** Returns true if some target matches both patterns; `*` stands for any characters. */
export function hasOverlap(first: string, second: string): boolean {
  const other = normalizeTarget(second);
  // Reachable positions in the other pattern, after each character of the first.
  let reachable = skipStars(new Set([0]), other);
  for (const character of normalizeTarget(first)) {
    const next = new Set<number>();
    // A `*` may match the rest from the first reachable position, or any part of it.
    if (character === "*") for (let at = Math.min(...reachable); at <= other.length; at++) next.add(at);
    else
      for (const at of reachable) {
        if (other[at] === "*") next.add(at);
        if (other[at] === character) next.add(at + 1);
      }
    if (next.size === 0) return false;
    reachable = skipStars(next, other);
  }
  return reachable.has(other.length);
}

/** Adds the position after each `*`, which may match nothing. The loop also visits positions that it adds. */
function skipStars(positions: Set<number>, pattern: string): Set<number> {
  for (const at of positions) if (pattern[at] === "*") positions.add(at + 1);
  return positions;
}
