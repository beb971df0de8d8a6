/** Assignment of units (users, sessions, companies) to one of 10,000 buckets, as flagd's `fractional` assigns them. */

/** Number of buckets; shares are counted in them. */
export const BUCKETS = 10_000;

/**
 * Returns the bucket of a unit, 0 to 9,999. Texts are hashed as UTF-8: Murmur3 (x86, 32 bits, seed 0) of salt and unit. A unit
 * keeps its bucket, so a share that grows only adds units.
 */
export const findBucket = (salt: string, unit: string): number =>
  Math.floor((hashText(salt + unit) * BUCKETS) / 2 ** 32);

const encoder = new TextEncoder();

/** Returns the Murmur3 hash of a text's UTF-8 bytes. ASCII, as most ids are, is its own bytes and needs no encoding. */
export function hashText(text: string): number {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 127) return hashMurmur3(encoder.encode(text));
  return hashBlocks(text.length, (at) => text.charCodeAt(at));
}

/** Returns the Murmur3 hash of bytes, unsigned; Austin Appleby's MurmurHash3_x86_32 with seed 0. */
export const hashMurmur3 = (bytes: Uint8Array): number => hashBlocks(bytes.length, (at) => bytes[at]!);

function hashBlocks(length: number, byteAt: (at: number) => number): number {
  const blocksEnd = length - (length % 4);
  let hash = 0;
  for (let at = 0; at < blocksEnd; at += 4) {
    hash ^= scramble(byteAt(at) | (byteAt(at + 1) << 8) | (byteAt(at + 2) << 16) | (byteAt(at + 3) << 24));
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
  }
  let tail = 0;
  for (let at = length - 1; at >= blocksEnd; at -= 1) tail = (tail << 8) | byteAt(at);
  hash ^= scramble(tail) ^ length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function scramble(block: number): number {
  const mixed = Math.imul(block, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}
