/** Verifies an SSHSIG of a statement, as `ssh-keygen -Y sign` creates it, and the presence of the person, which SSHSIG leaves open. */
import { decodeBase64, toBase64 } from "../../kit/base64.ts";
import { type SshMaterial, parseSshMaterial } from "../rules/key_material.ts";
import type { SshKey } from "../rules/keys.ts";
import { createWireReader, encodeWireString } from "../rules/ssh_wire.ts";
import { toRawSignature } from "./ecdsa.ts";
import { ALGORITHMS, type Bytes, digest, verifySignature } from "./web_crypto.ts";

/** SSH signature namespace: separates signatures of statements from signatures for git or for files. */
export const NAMESPACE = "countersign-consent";

const ARMOUR = /^-----BEGIN SSH SIGNATURE-----\n((?:[A-Za-z0-9+/=]+\n)+)-----END SSH SIGNATURE-----$/;
const HASHES: Record<string, string> = { sha256: "SHA-256", sha512: "SHA-512" };
/** Flags of a security key's signature: the person was present, and was verified. */
const PRESENT = 1;
const VERIFIED = 4;

/** Parses an armoured SSHSIG; undefined if it is invalid. Line ends may be CRLF, and blanks may surround it. */
function parseSshSig(armoured: string) {
  const plain = armoured.replaceAll("\r\n", "\n").replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
  // "!" is no base64, so text without armour is invalid.
  const bytes = decodeBase64(ARMOUR.exec(plain)?.[1]!.replaceAll("\n", "") ?? "!");
  if (!bytes) return undefined;
  try {
    const reader = createWireReader(bytes);
    if (new TextDecoder().decode(reader.take(6)) !== "SSHSIG" || reader.u32() !== 1) return undefined;
    const publicKey = reader.string();
    const namespace = reader.text();
    // The reserved field must be empty.
    if (reader.string().length > 0) return undefined;
    const parts = { publicKey, namespace, hash: reader.text(), signature: reader.string() };
    reader.end();
    return parts;
  } catch {
    return undefined;
  }
}

/** Returns the public key in an SSHSIG, in base64; undefined if the SSHSIG is invalid. */
export function findSigner(armoured: string): string | undefined {
  const parts = parseSshSig(armoured);
  return parts && toBase64(parts.publicKey);
}

/** Explains why an SSHSIG is no signature of the statement by this key; undefined if it is one. */
export async function findSshProblem(armoured: string, key: SshKey, statement: Bytes): Promise<string | undefined> {
  const parts = parseSshSig(armoured);
  if (!parts) return "it is no armoured SSH signature";
  const { publicKey, namespace, hash, signature } = parts;
  const material = parseSshMaterial(key.public_key)!;
  if (toBase64(publicKey) !== toBase64(material.blob)) return "it is of another key";
  if (namespace !== NAMESPACE) return `its namespace is not ${NAMESPACE}`;
  const hashName = Object.hasOwn(HASHES, hash) ? HASHES[hash] : undefined;
  if (hashName === undefined) return "its hash is neither sha256 nor sha512";
  const hashed = encodeWireString(await digest(hashName, statement));
  const wireText = (text: string): Bytes => encodeWireString(new TextEncoder().encode(text));
  const signed = concat(new TextEncoder().encode("SSHSIG"), wireText(namespace), wireText(""), wireText(hash), hashed);
  try {
    return await findKeyProblem(material, signature, signed);
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return "its signature cannot be read";
    throw error;
  }
}

/** Checks a signature by a key. A security key signs the hashes of application and message, flags, and a counter. */
async function findKeyProblem(material: SshMaterial, signature: Bytes, signed: Bytes): Promise<string | undefined> {
  const { type, raw: publicKey, application } = material;
  const reader = createWireReader(signature);
  if (reader.text() !== type) return "its signature is of another type than its key";
  const inner = reader.string();
  // One byte of flags, and a counter of four bytes.
  const flags = application && reader.take(5);
  reader.end();
  const message = flags ? concat(await digest("SHA-256", application), flags, await digest("SHA-256", signed)) : signed;
  if (!(await isValid(type.includes("ecdsa"), publicKey, inner, message))) return "the signature is not of this key";
  if (!flags) return undefined;
  if ((flags[0]! & PRESENT) === 0) return "nobody was present";
  if ((flags[0]! & VERIFIED) === 0) return "the person was not verified; use a key made with -O verify-required";
  return undefined;
}

async function isValid(isEcdsa: boolean, publicKey: Bytes, signature: Bytes, message: Bytes): Promise<boolean> {
  if (!isEcdsa) return verifySignature("raw", publicKey, ALGORITHMS.EdDSA, signature, message);
  const numbers = createWireReader(signature);
  const raw = toRawSignature(numbers.string(), numbers.string());
  numbers.end();
  return raw !== undefined && verifySignature("raw", publicKey, ALGORITHMS.ES256, raw, message);
}

const concat = (...parts: Uint8Array[]): Bytes => new Uint8Array(parts.flatMap((part) => [...part]));
