/** Base64 with one accepted spelling for each sequence of bytes, so that one proof cannot be written in two ways. */

/** Standard base64 with padding. */
export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

/** Base64url without padding. */
export const toBase64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** Decodes base64; undefined unless the text is exactly what `toBase64` writes. */
export const decodeBase64 = (text: string): Uint8Array<ArrayBuffer> | undefined => decode(text, text, toBase64);

/** Decodes base64url; undefined unless the text is exactly what `toBase64Url` writes. */
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
