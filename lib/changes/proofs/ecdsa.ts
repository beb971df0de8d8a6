/** Converts ECDSA signatures over P-256 to the raw form of Web Crypto: two numbers of 32 bytes each. */

const SIZE = 32;

/** Returns the 64 raw bytes of an ASN.1 DER signature; undefined unless the encoding is canonical. */
export function parseDerSignature(der: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  // A SEQUENCE (0x30) of two INTEGERs (2), each with its length, which is one byte at this size.
  if (der[0] !== 0x30 || der[1] !== der.length - 2 || der[2] !== 2) return undefined;
  const middle = 4 + der[3]!;
  if (der[middle] !== 2 || middle + 2 + der[middle + 1]! !== der.length) return undefined;
  return toRawSignature(der.slice(4, middle), der.slice(middle + 2));
}

/** Returns the 64 raw bytes of two numbers; undefined if one is negative, too long, or not in its shortest form. */
export function toRawSignature(r: Uint8Array, s: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const raw = new Uint8Array(2 * SIZE);
  for (const [index, number] of [r, s].entries()) {
    // An empty number is rejected like a negative one.
    const [first = 128, second = 0] = number;
    if (first > 127 || (first === 0 && second < 128)) return undefined;
    const digits = first === 0 ? number.subarray(1) : number;
    if (digits.length > SIZE) return undefined;
    raw.set(digits, (index + 1) * SIZE - digits.length);
  }
  return raw;
}
