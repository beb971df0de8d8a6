/** A set of offsets in a file: the compaction lists in it where the live records of a segment begin. */

/** Distinct offsets in one file. */
export interface OffsetSet {
  readonly size: number;
  /** Adds an offset within the file. */
  add(offset: number): void;
  /** Removes an offset; true if it was in the set. */
  delete(offset: number): boolean;
  /** Returns the lowest offset of a set that is not empty. */
  first(): number;
}

/** Creates an empty set for a file of `bytes`: one bit for each byte. */
export function createOffsetSet(bytes: number): OffsetSet {
  const bits = new Uint8Array(Math.ceil(bytes / 8));
  let size = 0;
  const has = (offset: number): boolean => (bits[offset >> 3]! & (1 << (offset & 7))) !== 0;
  const flip = (offset: number): void => void (bits[offset >> 3]! ^= 1 << (offset & 7));
  return {
    get size() {
      return size;
    },
    add(offset) {
      if (has(offset)) return;
      flip(offset);
      size++;
    },
    delete(offset) {
      if (!has(offset)) return false;
      flip(offset);
      size--;
      return true;
    },
    first() {
      let offset = bits.findIndex((byte) => byte !== 0) * 8;
      while (!has(offset)) offset++;
      return offset;
    },
  };
}
