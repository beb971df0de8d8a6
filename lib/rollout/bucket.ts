/** Assignment of units (users, sessions, companies) to one of 10,000 buckets, as flagd's `fractional` assigns them. */

/** Number of buckets; shares are counted in them. */
export const BUCKETS = 10_000;

/**
 * Returns the bucket of a unit, 0 to 9,999. Texts are hashed as UTF-8: Murmur3 (x86, 32 bits, seed 0) of salt and unit. A unit
 * keeps its bucket, so a share that grows only adds units.
 */
export const findBucket = (salt: string, unit: string): number =>
  Math.floor((hashMurmur3(new TextEncoder().encode(salt + unit)) * BUCKETS) / 2 ** 32);

/** Returns the Murmur3 hash of bytes, unsigned; Austin Appleby's MurmurHash3_x86_32 with seed 0. */
export function hashMurmur3(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const blocksEnd = bytes.length - (bytes.length % 4);
  let hash = 0;
  for (let at = 0; at < blocksEnd; at += 4) {
    hash ^= scramble(view.getUint32(at, true));
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
  }
  let tail = 0;
  for (let at = bytes.length - 1; at >= blocksEnd; at -= 1) tail = (tail << 8) | bytes[at]!;
  hash ^= scramble(tail) ^ bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function scramble(block: number): number {
  const mixed = Math.imul(block, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}
