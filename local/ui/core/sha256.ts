/** Hashes, computed here: the service's word is not taken for them. */

/** Returns whether this page may compute hashes: browsers allow it over https and on this machine only. */
export const canHash = (): boolean => globalThis.crypto?.subtle !== undefined;

/** SHA-256 of bytes, or of a text's UTF-8. */
export async function sha256(of: string | Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = typeof of === "string" ? new TextEncoder().encode(of) : of;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** Bytes in lower-case hex. */
export const toHex = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
