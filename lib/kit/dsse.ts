/** DSSE: signed envelopes, as https://github.com/secure-systems-lab/dsse/blob/master/protocol.md describes them. */
import { toBase64 } from "./base64.ts";

/** A payload with its signatures; payload and `sig` are base64 with padding. */
export interface Envelope {
  payloadType: string;
  payload: string;
  signatures: { keyid: string; sig: string }[];
}

/** Signs bytes with Ed25519. */
export interface EnvelopeSigner {
  /** 32 bytes. */
  publicKey: Uint8Array;
  sign(text: Uint8Array<ArrayBuffer>): Promise<Uint8Array> | Uint8Array;
}

const encoder = new TextEncoder();

/** The DER of an Ed25519 public key before its 32 bytes (RFC 8410). */
const SPKI = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/** Returns the id of a key: hex SHA-256 of its SPKI. */
export const keyId = (publicKey: Uint8Array, sha256: (bytes: Uint8Array<ArrayBuffer>) => string): string =>
  sha256(Uint8Array.from([...SPKI, ...publicKey]));

/** Returns the bytes to sign (PAE): type and payload, each after its length in bytes. */
export function signedBytes(payloadType: string, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = encoder.encode(`DSSEv1 ${encoder.encode(payloadType).length} ${payloadType} ${payload.length} `);
  const bytes = new Uint8Array(head.length + payload.length);
  bytes.set(head);
  bytes.set(payload, head.length);
  return bytes;
}

/** Signs a text. */
export async function signEnvelope(
  payloadType: string,
  text: string,
  { signer, sha256 }: { signer: EnvelopeSigner; sha256: (bytes: Uint8Array<ArrayBuffer>) => string },
): Promise<Envelope> {
  const payload = encoder.encode(text);
  const sig = await signer.sign(signedBytes(payloadType, payload));
  const signatures = [{ keyid: keyId(signer.publicKey, sha256), sig: toBase64(sig) }];
  return { payloadType, payload: toBase64(payload), signatures };
}
