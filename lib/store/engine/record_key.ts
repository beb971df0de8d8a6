/** Allowed names of records, and ids as bytes, for engines that order keys by bytes. */
import type { ListOptions } from "../store.ts";
import type { Key } from "./view.ts";

const encoder = new TextEncoder();
// Without this a leading U+FEFF is taken for a byte order mark and dropped.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

const MAX_ID_BYTES = 1000;

/**
 * An id as bytes that sort as the port orders ids: by UTF-16 code units. UTF-8 has that order but for one thing: what lies
 * beyond the basic plane (lead bytes F0 to F4) sorts behind U+E000 to U+FFFF (lead bytes EE and EF). So these lead bytes
 * change places. No byte of any other character is one of them; every other id is its plain UTF-8.
 */
export function sortKey(id: string): Uint8Array<ArrayBuffer> {
  const bytes = encoder.encode(id);
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]!;
    if (byte >= 0xee) bytes[index] = byte >= 0xf0 ? byte - 2 : byte + 5;
  }
  return bytes;
}

/** Returns the id of a sort key. */
export function parseId(key: Uint8Array): string {
  const bytes = Uint8Array.from(key, (byte) => (byte < 0xee ? byte : byte >= 0xf3 ? byte - 5 : byte + 2));
  return decoder.decode(bytes);
}

/** Bounds of the sort keys of a page, both inclusive. */
export interface Bounds {
  from: Uint8Array<ArrayBuffer>;
  to: Uint8Array<ArrayBuffer>;
}

/** No sort key has this byte, so no id lies between a prefix followed by it and what follows the prefix. */
const BEYOND = 0xff;

/** The bounds of a page; `undefined` when nothing can lie between them. */
export function keyBounds({
  after,
  prefix = "",
  reverse = false,
}: Pick<ListOptions, "after" | "prefix" | "reverse">): Bounds | undefined {
  const key = sortKey(prefix);
  let from = key.length === 0 ? Uint8Array.of(0) : key;
  let to = Uint8Array.of(...key, BEYOND);
  if (after !== undefined && reverse) to = lower(to, before(sortKey(after)));
  else if (after !== undefined) from = higher(from, Uint8Array.of(...sortKey(after), 0));
  return compare(from, to) > 0 ? undefined : { from, to };
}

/** Returns the key directly before a key. */
function before(key: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const last = key.at(-1);
  return last ? Uint8Array.of(...key.subarray(0, -1), last - 1, BEYOND) : key.slice(0, -1);
}

function compare(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) if (a[index] !== b[index]) return a[index]! - b[index]!;
  return a.length - b.length;
}

const lower = <T extends Uint8Array>(a: T, b: T): T => (compare(a, b) < 0 ? a : b);
const higher = <T extends Uint8Array>(a: T, b: T): T => (compare(a, b) > 0 ? a : b);

/** Refuses an id that some engine could not keep as it is: it is some text, well-formed, of 1,000 bytes at most. */
export function requireValidKey({ collection, id }: Key): void {
  if (collection === "" || typeof id !== "string" || id === "")
    throw new TypeError(`${collection}/${id}: a record needs a collection and an id`);
  if (!id.isWellFormed()) throw new TypeError(`${collection}/${id}: the id is not well-formed Unicode`);
  if (id.length > MAX_ID_BYTES / 3 && encoder.encode(id).length > MAX_ID_BYTES)
    throw new TypeError(
      `${collection}: an id may have ${MAX_ID_BYTES} bytes at most, this one begins ${id.slice(0, 40)}`,
    );
}
