/** Public keys of an intent: their text form, and the key that verifies a signature. */
import { decodeBase64, toBase64, decodeBase64Url } from "../../kit/base64.ts";
import type { Sha256 } from "../../kit/platform.ts";
import { createWireReader } from "./ssh_wire.ts";

/** How a passkey signs. */
export type Algorithm = "ES256" | "EdDSA" | "RS256";

/** The public key of a passkey; `raw` is the same for every encoding of one key. */
export interface PasskeyMaterial {
  algorithm: Algorithm;
  spki: Uint8Array<ArrayBuffer>;
  raw: Uint8Array<ArrayBuffer>;
}

/** An SSH key; `application` is present for a security key, which signs only when a person is present. */
export interface SshMaterial {
  type: SshKeyType;
  blob: Uint8Array<ArrayBuffer>;
  raw: Uint8Array<ArrayBuffer>;
  application?: Uint8Array<ArrayBuffer>;
}

/** Accepted types of SSH keys: security keys first, then keys that sign unattended. */
export const SSH_KEY_TYPES = [
  "sk-ssh-ed25519@openssh.com",
  "sk-ecdsa-sha2-nistp256@openssh.com",
  "ssh-ed25519",
  "ecdsa-sha2-nistp256",
] as const;
export type SshKeyType = (typeof SSH_KEY_TYPES)[number];

/** The first bytes (hex) of a SubjectPublicKeyInfo; for RSA, the bytes after the outermost length. */
const SPKI = {
  ES256: "3059301306072a8648ce3d020106082a8648ce3d03010703420004",
  EdDSA: "302a300506032b6570032100",
  RS256: "300d06092a864886f70d0101010500",
} as const;
/** Length of the SubjectPublicKeyInfo of an RSA key of 2048 bits. */
const MIN_RSA_BYTES = 294;

/** Bytes as lower-case hex. */
export const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Reads the public key of a passkey, base64url of a SubjectPublicKeyInfo; undefined for one that cannot be used. */
export function parsePasskeyMaterial(publicKey: string): PasskeyMaterial | undefined {
  const spki = decodeBase64Url(publicKey);
  if (!spki) return undefined;
  const hex = toHex(spki);
  // `raw` is the end of the bytes: an uncompressed point of 65 bytes, or 32 bytes for Ed25519.
  if (hex.startsWith(SPKI.ES256) && spki.length === 91) return { algorithm: "ES256", spki, raw: spki.slice(-65) };
  if (hex.startsWith(SPKI.EdDSA) && spki.length === 44) return { algorithm: "EdDSA", spki, raw: spki.slice(-32) };
  return isRsa(hex) && spki.length >= MIN_RSA_BYTES ? { algorithm: "RS256", spki, raw: spki } : undefined;
}

/** Returns true for an RSA key in strict DER: shortest lengths, no extra bytes. Otherwise one key could be listed twice. */
function isRsa(hex: string): boolean {
  let offset = 0;
  /** Reads a tag and its length; returns the end of its content; NaN for another tag or a length that is not minimal. */
  const enterElement = (tag: string): number => {
    if (!hex.startsWith(tag, offset)) return NaN;
    const first = parseInt(hex.slice(offset + 2, offset + 4), 16);
    const digits = first < 0x80 ? 0 : (first - 0x80) * 2;
    const length = digits === 0 ? first : parseInt(hex.slice(offset + 4, offset + 4 + digits), 16);
    offset += 4 + digits;
    return digits === countLengthDigits(length) ? offset + length * 2 : NaN;
  };
  const totalDigits = hex.length;
  if (enterElement("30") !== totalDigits || !hex.startsWith(SPKI.RS256, offset)) return false;
  offset += SPKI.RS256.length;
  if (enterElement("03") !== totalDigits || !hex.startsWith("00", offset)) return false;
  offset += 2;
  if (enterElement("30") !== totalDigits) return false;
  // The modulus, which may end anywhere, and the exponent, which must end the key.
  for (const end of [undefined, totalDigits]) {
    const next = enterElement("02");
    // A number is not empty. A leading zero is allowed only where the number would otherwise be negative.
    const isMinimal = hex.slice(offset, offset + 2) !== "00" || parseInt(hex.slice(offset + 2, offset + 4), 16) >= 0x80;
    if (Number.isNaN(next) || next <= offset || !isMinimal || (end !== undefined && next !== end)) return false;
    offset = next;
  }
  return true;
}

/** Returns how many hex digits a length has in DER after its first byte. */
function countLengthDigits(length: number): number {
  if (length < 0x80) return 0;
  return length < 0x100 ? 2 : 4;
}

/** Parses a public key from the line of a `.pub` file; undefined for a key that cannot be used. */
export function parseSshMaterial(publicKey: string): SshMaterial | undefined {
  const [type, encoded = ""] = publicKey.split(" ") as [SshKeyType, string?];
  const blob = decodeBase64(encoded);
  if (!blob || !SSH_KEY_TYPES.includes(type)) return undefined;
  try {
    const reader = createWireReader(blob);
    if (reader.text() !== type) return undefined;
    const isEcdsa = type.includes("ecdsa");
    if (isEcdsa && reader.text() !== "nistp256") return undefined;
    const raw = reader.string();
    const application = type.startsWith("sk-") ? { application: reader.string() } : {};
    reader.end();
    // An uncompressed point begins with 4.
    if (raw.length !== (isEcdsa ? 65 : 32) || (isEcdsa && raw[0] !== 4)) return undefined;
    return { type, blob, raw, ...application };
  } catch {
    return undefined;
  }
}

/** The id of a key in entries: the SHA-256 fingerprint of the public key, for an SSH key as `ssh-keygen -l` shows it. */
export function signingKeyId({ type, public_key }: { type: string; public_key: string }, sha256: Sha256): string {
  const bytes = type === "ssh" ? parseSshMaterial(public_key)!.blob : parsePasskeyMaterial(public_key)!.spki;
  const digest = Uint8Array.from(sha256(bytes).match(/../g)!, (byte) => parseInt(byte, 16));
  return `SHA256:${toBase64(digest).replaceAll("=", "")}`;
}

/** Returns true if a page of this origin may use the key: an origin that the key lists, or else its relying party's. */
export const isKeyOrigin = (
  origin: string,
  { rp_id, origins }: { rp_id: string; origins?: string[] | undefined },
): boolean =>
  origins?.includes(origin) ??
  (rp_id === "localhost" ? /^http:\/\/localhost(?::[1-9]\d{0,4})?$/.test(origin) : origin === `https://${rp_id}`);
