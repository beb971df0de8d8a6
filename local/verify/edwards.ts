/** Reads public keys of Ed25519 (RFC 8032); each key has exactly one accepted encoding. */
import { createPublicKey, type KeyObject } from "node:crypto";

const P = 2n ** 255n - 19n;

/** Parses a key of 32 bytes; undefined where they are no point, or a non-canonical encoding, which libraries treat differently. */
export function parseEd25519Key(raw: Buffer): KeyObject | undefined {
  if (raw.length !== 32) return undefined;
  const number = BigInt(`0x${Buffer.from(raw).reverse().toString("hex")}`);
  const y = BigInt.asUintN(255, number);
  // With these two values of y, x is 0, which has no sign.
  if (y >= P || ((y === 1n || y === P - 1n) && number >> 255n === 1n)) return undefined;
  try {
    return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") }, format: "jwk" });
  } catch {
    return undefined;
  }
}
