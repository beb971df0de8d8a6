/** Returns a seeded generator (linear congruential) of integers from 0 to `below - 1`. */
export function seededIntegers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
