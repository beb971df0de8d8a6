/** A set of offsets in a file. */

/** Offsets in a file. */
export interface Offsets {
  readonly size: number;
  /** One that lies in the file. */
  add(offset: number): void;
  /** Returns whether it was there. */
  delete(offset: number): boolean;
  /** The lowest, of some. */
  first(): number;
}

/** None yet, in a file of so many bytes: a bit for each of them, so that a hundred thousand need not be sorted at once. */
export function offsetsWithin(bytes: number): Offsets {
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
