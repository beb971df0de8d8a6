/** A set of whole numbers from 0 up, a bit each. */

/** Whole numbers that lie close together. */
export interface NumberSet {
  add(number: number): void;
  has(number: number): boolean;
}

/** None yet. */
export function numberSet(): NumberSet {
  let bits = new Uint8Array(512);
  return {
    add(number) {
      if (number >= bits.length * 8) {
        const more = new Uint8Array(Math.max(bits.length * 2, Math.ceil((number + 1) / 8)));
        more.set(bits);
        bits = more;
      }
      bits[Math.floor(number / 8)]! |= 1 << (number % 8);
    },
    has: (number) => ((bits[Math.floor(number / 8)] ?? 0) & (1 << (number % 8))) !== 0,
  };
}
