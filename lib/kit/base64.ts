/** Base64 that is written in one way only: two texts of the same bytes would be two proofs of one thing. */

/** Standard base64 with padding. */
export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

/** Base64url without padding. */
export const toBase64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** The bytes of base64; undefined unless it is written in the one way that `toBase64` writes. */
export const decodeBase64 = (text: string): Uint8Array<ArrayBuffer> | undefined => decode(text, text, toBase64);

/** The bytes of base64url; undefined unless it is written in the one way that `toBase64Url` writes. */
export const decodeBase64Url = (text: string): Uint8Array<ArrayBuffer> | undefined =>
  decode(text.replaceAll("-", "+").replaceAll("_", "/"), text, toBase64Url);

function decode(base64: string, text: string, encode: (bytes: Uint8Array) => string) {
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return encode(bytes) === text ? bytes : undefined;
  } catch {
    return undefined;
  }
}
