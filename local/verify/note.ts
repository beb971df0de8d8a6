/** Parses checkpoints in signed notes (C2SP), and the keys that verify them. */
import { hash, type KeyObject, verify } from "node:crypto";
import { parseEd25519Key } from "./edwards.ts";

/** Content of a checkpoint; `root` is base64. */
export interface Checkpoint {
  origin: string;
  length: number;
  root: string;
  /** Text that its signatures cover. */
  text: string;
  signatures: { name: string; keyId: string; signature: Buffer }[];
}

/** A public key; without a name it verifies signatures of any name. */
export interface Key {
  name: string | undefined;
  raw: Buffer;
  key: KeyObject;
}

/** Escapes control characters, which a line of a note cannot have. */
export const escapeNoteLine = (text: string): string => text.replace(/\p{Cc}/gu, encodeURIComponent);

/** Escapes control characters, and characters that break a line or change its direction. */
export const escapeForTerminal = (text: string): string =>
  text.replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, encodeURIComponent);

/** The signature type of a log. */
export const SIGNATURE = 1;
/** A key name: no white space of Unicode, no control character, no plus sign. */
const KEY_NAME = String.raw`([^\s\ufeff+\x00-\x1f\x7f-\x9f]+)`;
/** A name, the key id, and in base64 the signature type (one byte) and the 32 bytes of the key. */
const VERIFIER_KEY = new RegExp(`^${KEY_NAME}\\+([0-9a-f]{8})\\+([A-Za-z0-9+/]{44})[ \\t\\r\\n]*$`, "u");
const SIGNATURE_LINE = new RegExp(`^— ${KEY_NAME} ([A-Za-z0-9+/]+={0,2})$`, "u");
/** Control characters, which no note contains. */
const CONTROL = /[\x00-\x09\x0b-\x1f\x7f-\x9f]/;
const PEM = /-----BEGIN PUBLIC KEY-----[ \t\r\n]+([A-Za-z0-9+/= \t\r\n]+)-----END PUBLIC KEY-----/;
/** DER of an Ed25519 public key before its 32 bytes. */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
/** Lines with the origin, the length of the log, its root in base64, and any further lines. */
const CHECKPOINT = /^([^\n]+)\n(0|[1-9]\d{0,14})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*$/;

/** Parses a checkpoint; undefined when the text is not one. Without signatures the empty line may be missing. */
export function parseCheckpoint(note: string): Checkpoint | undefined {
  const end = note.lastIndexOf("\n\n");
  const text = end === -1 ? note : note.slice(0, end + 1);
  const lines =
    end === -1
      ? []
      : note
          .slice(end + 2)
          .split("\n")
          .slice(0, -1);
  const [, origin, length, root] = CHECKPOINT.exec(text) ?? [];
  const signatures = lines.map(parseSignature);
  if (CONTROL.test(note)) return undefined;
  if (!origin || !length || !root || !note.endsWith("\n") || !signatures.every((signature) => signature !== undefined))
    return undefined;
  return { origin, length: Number(length), root, text, signatures };
}

/** Parses a line with a signature: the name, and in base64 the four bytes of the key id and the signature. */
function parseSignature(line: string) {
  const [, name, encoded] = SIGNATURE_LINE.exec(line) ?? [];
  const bytes = Buffer.from(encoded ?? "", "base64");
  if (name === undefined || bytes.length < 5 || bytes.toString("base64") !== encoded) return undefined;
  return { name, keyId: bytes.toString("hex", 0, 4), signature: bytes.subarray(4) };
}

/** Parses a public key: a verifier key (`name+id+base64`) or PEM; undefined when it is neither, or not Ed25519. */
export const parseKey = (text: string): Key | undefined =>
  VERIFIER_KEY.test(text) ? parseVerifierKey(text, SIGNATURE) : parsePemKey(text);

/** Parses a verifier key of a signature type; undefined when the text is not one. */
export function parseVerifierKey(text: string, type: number): (Key & { name: string }) | undefined {
  const [, name, id, encoded] = VERIFIER_KEY.exec(text) ?? [];
  const bytes = Buffer.from(encoded ?? "", "base64");
  const raw = bytes.subarray(1);
  if (name === undefined || bytes[0] !== type || computeKeyId(name, raw, type) !== id) return undefined;
  const key = parseEd25519Key(raw);
  return key && { name, raw, key };
}

function parsePemKey(text: string): Key | undefined {
  const encoded = PEM.exec(text)?.[1]!.replace(/[ \t\r\n]/g, "") ?? "";
  const der = Buffer.from(encoded, "base64");
  const raw = der.subarray(SPKI_PREFIX.length);
  if (der.toString("base64") !== encoded || !der.subarray(0, SPKI_PREFIX.length).equals(SPKI_PREFIX)) return undefined;
  const key = parseEd25519Key(raw);
  return key && { name: undefined, raw, key };
}

/** Returns the first four bytes of SHA-256(name ‖ 0x0A ‖ type ‖ key), as hex. */
export const computeKeyId = (name: string, raw: Buffer, type = SIGNATURE): string =>
  hash("sha256", Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(type), raw]), "hex").slice(0, 8);

/** Returns the name under which a key signed a checkpoint; undefined when it did not, or when one of its signatures is invalid. */
export function findSigner({ text, signatures }: Checkpoint, { name, raw, key }: Key): string | undefined {
  const own = signatures.filter(
    (signature) => signature.name === (name ?? signature.name) && signature.keyId === computeKeyId(signature.name, raw),
  );
  return own.every(({ signature }) => verify(null, Buffer.from(text), key, signature)) ? own[0]?.name : undefined;
}
