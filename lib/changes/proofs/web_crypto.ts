/** Calls of Web Crypto that every host supports. */

/** How keys of each algorithm are imported and used. */
export const ALGORITHMS = {
  ES256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  EdDSA: { name: "Ed25519" },
  RS256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
} as const;

export type Bytes = Uint8Array<ArrayBuffer>;

export const digest = async (name: string, bytes: Bytes): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest(name, bytes));

/** Returns true if a signature is valid; false also for an invalid key, such as a point off its curve. */
export async function verifySignature(
  format: "spki" | "raw",
  publicKey: Bytes,
  algorithm: (typeof ALGORITHMS)[keyof typeof ALGORITHMS],
  signature: Bytes,
  signed: Bytes,
): Promise<boolean> {
  try {
    const key = await crypto.subtle.importKey(format, publicKey, algorithm, false, ["verify"]);
    return await crypto.subtle.verify(algorithm, key, signature, signed);
  } catch {
    return false;
  }
}
