/** Assignment of units (users, sessions, companies) to one of 10,000 buckets, as flagd's `fractional` assigns them. */

/** Number of buckets; shares are counted in them. */
export const BUCKETS = 10_000;

/**
 * Returns the bucket of a unit, 0 to 9,999. Texts are hashed as UTF-8: Murmur3 (x86, 32 bits, seed 0) of salt and unit. A unit
 * keeps its bucket, so a share that grows only adds units.
 */
export const findBucket = (salt: string, unit: string): number => bucketFinder(salt)(unit);

/** Returns `findBucket` for one salt, whose part of the hash is computed once. */
export function bucketFinder(salt: string): (unit: string) => number {
  // Only complete blocks can be hashed ahead, and only of ASCII, whose characters are its bytes.
  const end = isAscii(salt) ? salt.length - (salt.length % 4) : 0;
  const hash = mixBlocks(0, end, (at) => salt.charCodeAt(at));
  const rest = salt.slice(end);
  return (unit) => Math.floor((hashText(rest + unit, { hash, length: end }) * BUCKETS) / 2 ** 32);
}

const encoder = new TextEncoder();

/** Hash of the bytes so far; `length` is their number, a multiple of four. */
interface HashState {
  hash: number;
  length: number;
}

const EMPTY_STATE: HashState = { hash: 0, length: 0 };

/** Returns the Murmur3 hash of a text's UTF-8 bytes that follow `before`. ASCII, as most ids are, needs no encoding. */
export const hashText = (text: string, before = EMPTY_STATE): number =>
  isAscii(text)
    ? hashBlocks(text.length, (at) => text.charCodeAt(at), before)
    : hashMurmur3(encoder.encode(text), before);

/** Returns the Murmur3 hash of bytes, unsigned; Austin Appleby's MurmurHash3_x86_32 with seed 0. */
export const hashMurmur3 = (bytes: Uint8Array, before = EMPTY_STATE): number =>
  hashBlocks(bytes.length, (at) => bytes[at]!, before);

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 127) return false;
  return true;
}

function hashBlocks(length: number, byteAt: (at: number) => number, before: HashState): number {
  const blocksEnd = length - (length % 4);
  let hash = mixBlocks(before.hash, blocksEnd, byteAt);
  let rest = 0;
  for (let at = length - 1; at >= blocksEnd; at -= 1) rest = (rest << 8) | byteAt(at);
  hash ^= scramble(rest) ^ (before.length + length);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function mixBlocks(start: number, end: number, byteAt: (at: number) => number): number {
  let hash = start;
  for (let at = 0; at < end; at += 4) {
    hash ^= scramble(byteAt(at) | (byteAt(at + 1) << 8) | (byteAt(at + 2) << 16) | (byteAt(at + 3) << 24));
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
  }
  return hash;
}

function scramble(block: number): number {
  const mixed = Math.imul(block, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}
