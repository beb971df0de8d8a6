/** The signed note of C2SP, with Ed25519: a text, an empty line, and `— <key name> <base64(key id ‖ signature)>` lines. */
import { bytesToHex } from "@noble/hashes/utils.js";
import { decodeBase64, toBase64 } from "../kit/base64.ts";
import type { Sha256 } from "../kit/platform.ts";
import { hexBytes } from "./merkle.ts";

/** A signature line; `keyId` is 8 hex digits. */
export interface NoteSignature {
  name: string;
  keyId: string;
  signature: Uint8Array<ArrayBuffer>;
}

/** A parsed note; `text` is the signed text with its final line break. */
export interface Note {
  text: string;
  signatures: NoteSignature[];
}

/** A public key that verifies notes. */
export interface VerifierKey {
  name: string;
  /** The 32 bytes of RFC 8032. */
  publicKey: Uint8Array<ArrayBuffer>;
}

/** Signature types of C2SP: a log's signature, and a witness's cosignature. */
export const ED25519 = 1;
export const COSIGNATURE = 4;
const MAX_SIGNATURES = 100;
const SIGNATURE_LINE = /^\u2014 ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/u;

/** Encodes text for a line of a note: control characters are percent-encoded. */
export const noteLine = (text: string): string => text.replace(/\p{Cc}/gu, encodeURIComponent);

/** Encodes text as a key name: spaces and plus signs are percent-encoded too. */
export const keyName = (text: string): string => noteLine(text).replace(/[\s+]/gu, encodeURIComponent);

/** Computes the key id: the first four bytes of SHA-256(name ‖ 0x0A ‖ type ‖ public key), as hex. */
export function computeKeyId({ name, publicKey }: VerifierKey, sha256: Sha256, type = ED25519): string {
  const nameLine = new TextEncoder().encode(`${name}\n`);
  return sha256(new Uint8Array([...nameLine, type, ...publicKey])).slice(0, 8);
}

/** Formats the key in one line for verifiers: `<name>+<key id>+<base64(type ‖ public key)>`. */
export const formatVerifierKey = (key: VerifierKey, sha256: Sha256, type = ED25519): string =>
  `${key.name}+${computeKeyId(key, sha256, type)}+${toBase64(new Uint8Array([type, ...key.publicKey]))}`;

/** Parses a verifier key of a type; undefined for any other text. */
export function parseVerifierKey(text: string, sha256: Sha256, type = ED25519): VerifierKey | undefined {
  const [, name, keyId, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/u.exec(text) ?? [];
  const bytes = encoded === undefined ? undefined : decodeBase64(encoded);
  if (name === undefined || bytes?.[0] !== type) return undefined;
  const key = { name, publicKey: bytes.slice(1) };
  return computeKeyId(key, sha256, type) === keyId ? key : undefined;
}

/** Formats a note; without signatures it ends with the empty line that precedes signatures. */
export function formatNote({ text, signatures }: Note): string {
  const lines = signatures.map(
    ({ name, keyId, signature }) => `— ${name} ${toBase64(new Uint8Array([...hexBytes(keyId), ...signature]))}\n`,
  );
  return `${text}\n${lines.join("")}`;
}

/** Parses a note; undefined for any other text. */
export function parseNote(note: string): Note | undefined {
  const end = note.lastIndexOf("\n\n");
  if (end === -1 || !note.endsWith("\n") || /(?!\n)\p{Cc}/u.test(note)) return undefined;
  const lines = note.slice(end + 2).split("\n");
  lines.pop();
  if (lines.length > MAX_SIGNATURES) return undefined;
  const signatures: NoteSignature[] = [];
  for (const line of lines) {
    const [, name, encoded] = SIGNATURE_LINE.exec(line) ?? [];
    const bytes = encoded === undefined ? undefined : decodeBase64(encoded);
    if (name === undefined || !bytes || bytes.length < 5) return undefined;
    signatures.push({ name, keyId: bytesToHex(bytes.slice(0, 4)), signature: bytes.slice(4) });
  }
  return { text: note.slice(0, end + 1), signatures };
}

/** Returns whether a note has a valid signature of the key, and no invalid one under the key's name and id. */
export const isSignedWithKey = async (note: Note, key: VerifierKey, sha256: Sha256): Promise<boolean> =>
  (await verifySignature(note, key, sha256)) === "valid";

/** Verifies a key's signatures in a note; `invalid` if a signature with the key's name and id does not verify. */
export async function verifySignature(
  note: Note,
  key: VerifierKey,
  sha256: Sha256,
): Promise<"valid" | "absent" | "invalid"> {
  const own = listSignatures(note, key, computeKeyId(key, sha256));
  const text = new TextEncoder().encode(note.text);
  const verified = await Promise.all(own.map(({ signature }) => isValidEd25519(key, signature, text)));
  if (verified.length === 0) return "absent";
  return verified.every(Boolean) ? "valid" : "invalid";
}

/** Lists the signatures of a note under a key's name and id. */
export const listSignatures = (note: Note, { name }: VerifierKey, keyId: string): NoteSignature[] =>
  note.signatures.filter((signature) => signature.name === name && signature.keyId === keyId);

/** Returns whether a signature of 64 bytes is valid for a text under a key. */
export async function isValidEd25519(
  key: VerifierKey,
  signature: Uint8Array<ArrayBuffer>,
  text: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const publicKey = await crypto.subtle.importKey("raw", key.publicKey, "Ed25519", false, ["verify"]);
  return crypto.subtle.verify("Ed25519", publicKey, signature, text);
}
