/** Checks the keys of records, and converts ids to bytes for engines that order keys by bytes. */
import type { ListOptions } from "../store.ts";
import type { Key } from "./view.ts";

const encoder = new TextEncoder();
// Without `ignoreBOM` a leading U+FEFF would be dropped as a byte order mark.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

const MAX_ID_BYTES = 1000;

/**
 * Converts an id to bytes that sort in the order of ids, by UTF-16 code units. UTF-8 sorts the same way with one exception:
 * characters beyond U+FFFF (lead bytes F0 to F4) sort after U+E000 to U+FFFF (lead bytes EE and EF), not before. So the two
 * groups of lead bytes are swapped. They occur in no other character; the bytes of every other id are its UTF-8.
 */
export function sortKey(id: string): Uint8Array<ArrayBuffer> {
  const bytes = encoder.encode(id);
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]!;
    if (byte >= 0xee) bytes[index] = byte >= 0xf0 ? byte - 2 : byte + 5;
  }
  return bytes;
}

/** Returns the id of a sort key: the inverse of `sortKey`. */
export function parseId(key: Uint8Array): string {
  const bytes = Uint8Array.from(key, (byte) => (byte < 0xee ? byte : byte >= 0xf3 ? byte - 5 : byte + 2));
  return decoder.decode(bytes);
}

/** First and last possible sort key of a page, both inclusive. */
export interface Bounds {
  from: Uint8Array<ArrayBuffer>;
  to: Uint8Array<ArrayBuffer>;
}

/** A byte that no sort key contains: a prefix followed by it sorts after every key with this prefix. */
const END_BYTE = 0xff;

/** Returns the bounds of a page; `undefined` if no key can be between them. */
export function keyBounds({
  after,
  prefix = "",
  reverse = false,
}: Pick<ListOptions, "after" | "prefix" | "reverse">): Bounds | undefined {
  const key = sortKey(prefix);
  // No sort key is empty, and some engines reject an empty bound.
  let from = key.length === 0 ? Uint8Array.of(0) : key;
  let to = Uint8Array.of(...key, END_BYTE);
  if (after !== undefined && reverse) to = smaller(to, precedingBound(sortKey(after)));
  else if (after !== undefined) from = larger(from, Uint8Array.of(...sortKey(after), 0));
  return compare(from, to) > 0 ? undefined : { from, to };
}

/** Returns an inclusive upper bound of all keys before a key. */
function precedingBound(key: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const last = key.at(-1);
  // The key directly before one that ends with byte 0 is the same key without this byte.
  return last ? Uint8Array.of(...key.subarray(0, -1), last - 1, END_BYTE) : key.slice(0, -1);
}

function compare(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) if (a[index] !== b[index]) return a[index]! - b[index]!;
  return a.length - b.length;
}

const smaller = <T extends Uint8Array>(a: T, b: T): T => (compare(a, b) < 0 ? a : b);
const larger = <T extends Uint8Array>(a: T, b: T): T => (compare(a, b) > 0 ? a : b);

/** Rejects a key that some engine could not store: an id is well-formed text of 1 to 1,000 bytes in UTF-8. Errors: `TypeError`. */
export function requireValidKey({ collection, id }: Key): void {
  if (collection === "" || typeof id !== "string" || id === "")
    throw new TypeError(`${collection}/${id}: a record needs a collection and an id`);
  if (!id.isWellFormed()) throw new TypeError(`${collection}/${id}: the id is not well-formed Unicode`);
  // Shorter ids need no count: a UTF-16 code unit has three bytes in UTF-8 at most.
  if (id.length > MAX_ID_BYTES / 3 && encoder.encode(id).length > MAX_ID_BYTES)
    throw new TypeError(
      `${collection}: an id may have ${MAX_ID_BYTES} bytes at most, this one begins ${id.slice(0, 40)}`,
    );
}
