/** Keys and proofs of the link: HMAC-SHA256 and HKDF-SHA256 over the shared secret. */
import { hkdf } from "@noble/hashes/hkdf.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, utf8ToBytes } from "@noble/hashes/utils.js";

/** Name of the protocol, part of every derivation, so that no other use of the same secret yields the same bytes. */
export const PROTOCOL = utf8ToBytes("countersign-link/1");

/** The key `K` of a shared secret, and a short id by which the other end finds the secret. */
export interface SecretKey {
  kid: string;
  key: Uint8Array;
}

/** Derives `key = HKDF(secret, salt = protocol, info = "handshake")` and `kid`, hex of 4 bytes with `info = "kid"`. */
export function deriveSecretKey(secret: string): SecretKey {
  const input = utf8ToBytes(secret);
  return {
    kid: bytesToHex(hkdf(sha256, input, PROTOCOL, utf8ToBytes("kid"), 4)),
    key: hkdf(sha256, input, PROTOCOL, utf8ToBytes("handshake"), 32),
  };
}

/** Computes the transcript: SHA-256 over the protocol's name and the bytes of both opening frames. */
export const makeTranscript = (hello: Uint8Array, challenge: Uint8Array): Uint8Array =>
  sha256(concatBytes(PROTOCOL, hello, challenge));

/** Computes the client's proof: HMAC(K, "client" ‖ transcript). */
export const clientProof = (key: Uint8Array, transcript: Uint8Array): Uint8Array =>
  hmac(sha256, key, concatBytes(utf8ToBytes("client"), transcript));

/** Computes the server's proof: HMAC(K, "server" ‖ transcript ‖ the client's proof). */
export const serverProof = (key: Uint8Array, transcript: Uint8Array, client: Uint8Array): Uint8Array =>
  hmac(sha256, key, concatBytes(utf8ToBytes("server"), transcript, client));

/** Derives one key for each direction, different in every handshake, since the transcript contains both nonces. */
export function deriveSessionKeys(key: Uint8Array, transcript: Uint8Array): { client: Uint8Array; server: Uint8Array } {
  const derive = (info: string) => hkdf(sha256, key, transcript, utf8ToBytes(info), 32);
  return { client: derive("client to server"), server: derive("server to client") };
}

/** Prepares HMAC-SHA256 for a key, and returns the function that computes it. A host may replace `portableMac` by a faster one. */
export type Mac = (key: Uint8Array) => (data: Uint8Array) => Uint8Array;

/** HMAC-SHA256 in JavaScript, for every platform. */
export const portableMac: Mac = (key) => {
  const initial = hmac.create(sha256, key);
  return (data) => initial.clone().update(data).digest();
};

/** Compares bytes in constant time. */
export function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ (b[i] ?? 0);
  return difference === 0;
}
