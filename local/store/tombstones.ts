/**
 * The last revisions of deleted records, in a few bytes each, since their number grows with the journal. Ids are kept as
 * 53-bit hashes: where two meet, the higher revision counts for both, and revisions still never restart.
 */

/** Last revisions by id; they only rise. */
export interface Tombstones {
  readonly size: number;
  /** The last revision of a deleted record, 0 when there is none. */
  get(id: string): number;
  raise(id: string, revision: number): void;
}

/** An empty set of tombstones; `hash` gives a whole number above 0. */
export function tombstones(hash: (id: string) => number = hash53): Tombstones {
  let hashes = new Float64Array(64);
  let revisions = new Uint32Array(64);
  let size = 0;

  /** The slot of a hash: its own, or the free one where it would go. */
  const slotOf = (key: number): number => {
    const mask = hashes.length - 1;
    let slot = key & mask;
    while (hashes[slot] !== 0 && hashes[slot] !== key) slot = (slot + 1) & mask;
    return slot;
  };

  const grow = (): void => {
    const [oldHashes, oldRevisions] = [hashes, revisions];
    hashes = new Float64Array(oldHashes.length * 2);
    revisions = new Uint32Array(oldHashes.length * 2);
    for (let index = 0; index < oldHashes.length; index++) {
      if (oldHashes[index] === 0) continue;
      const slot = slotOf(oldHashes[index]!);
      hashes[slot] = oldHashes[index]!;
      revisions[slot] = oldRevisions[index]!;
    }
  };

  return {
    get size() {
      return size;
    },
    get: (id) => (size === 0 ? 0 : revisions[slotOf(hash(id))]!),
    raise(id, revision) {
      const key = hash(id);
      let slot = slotOf(key);
      if (hashes[slot] === 0) {
        if (++size > hashes.length * 0.75) {
          grow();
          slot = slotOf(key);
        }
        hashes[slot] = key;
      }
      revisions[slot] = Math.max(revisions[slot]!, revision);
    },
  };
}

/** Two 32-bit multiplicative hashes with different constants, mixed and joined to a number of 53 bits, never 0. */
function hash53(text: string): number {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 0x9e3779b1);
    b = Math.imul(b ^ unit, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return (a & 0x1fffff) * 2 ** 32 + (b >>> 0) || 1;
}
