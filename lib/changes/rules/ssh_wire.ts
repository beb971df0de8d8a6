/** The wire format of SSH (RFC 4251): numbers with the highest byte first, and strings that follow their length. */

/**
 * Creates a reader of successive values. Errors: `RangeError` if the bytes end too early, or `end` finds more bytes; `TypeError` if
 * a `text` is not UTF-8.
 */
export function createWireReader(bytes: Uint8Array<ArrayBuffer>) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;
  const reader = {
    u32(): number {
      offset += 4;
      return view.getUint32(offset - 4);
    },
    take(length: number): Uint8Array<ArrayBuffer> {
      if (offset + length > bytes.length) throw new RangeError("the bytes end too early");
      offset += length;
      return bytes.slice(offset - length, offset);
    },
    string: (): Uint8Array<ArrayBuffer> => reader.take(reader.u32()),
    text: (): string => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(reader.string()),
    end(): void {
      if (offset !== bytes.length) throw new RangeError("bytes remain after the last value");
    },
  };
  return reader;
}

/** Encodes a string: its length, then its bytes. */
export const encodeWireString = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => {
  const { length } = bytes;
  return new Uint8Array([length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255, ...bytes]);
};
