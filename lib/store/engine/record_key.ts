/** What a record may be called, and its id as bytes, for engines that order keys by bytes. */

const encoder = new TextEncoder();
// Without this a leading U+FEFF is taken for a byte order mark and dropped.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

const LONGEST_ID = 1000;

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

/** The id of which these are the bytes. */
export function idOf(key: Uint8Array): string {
  const bytes = Uint8Array.from(key, (byte) => (byte < 0xee ? byte : byte >= 0xf3 ? byte - 5 : byte + 2));
  return decoder.decode(bytes);
}

/** Refuses an id that some engine could not keep as it is: it is some text, well-formed, of 1,000 bytes at most. */
export function checkKey(collection: string, id: string): void {
  if (collection === "" || typeof id !== "string" || id === "")
    throw new TypeError(`${collection}/${id}: a record needs a collection and an id`);
  if (!id.isWellFormed()) throw new TypeError(`${collection}/${id}: the id is not well-formed Unicode`);
  if (id.length > LONGEST_ID / 3 && encoder.encode(id).length > LONGEST_ID)
    throw new TypeError(
      `${collection}: an id may have ${LONGEST_ID} bytes at most, this one begins ${id.slice(0, 40)}`,
    );
}
