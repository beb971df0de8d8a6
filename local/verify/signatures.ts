/** Verifies signatures of passkeys and SSH keys with Node's cryptography, independently of the service's code. */
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { isUtf8 } from "node:buffer";
import { readElement, readPositiveInteger, readTwoIntegers } from "./der.ts";
import { parseEd25519Key } from "./edwards.ts";
import { type JsonObject, parseObject, stringOrUndefined, hasRepeatedMember } from "./json.ts";
import { decodeBase64, type Key } from "./policy.ts";

const sha256 = (data: string | Buffer): Buffer => createHash("sha256").update(data).digest();
/** Flags of an authenticator: its owner was present (1) and verified (4); the key may be backed up; the key is backed up. */
const PRESENT_AND_VERIFIED = 1 | 4;
const BACKUP_ELIGIBLE = 8;
const BACKED_UP = 16;

/** Checks the parts of a passkey's assertion of a statement that do not depend on the key. */
export function matchesAssertion(statement: string, proof: JsonObject): boolean {
  const data = decodeBase64(proof["authenticator_data"], "base64url");
  const clientData = parseClientData(proof);
  // At least a digest of 32 bytes, the flags, and a counter of 4 bytes.
  if (!data || !clientData || data.length < 37) return false;
  const flags = data[32]!;
  return (
    clientData["type"] === "webauthn.get" &&
    clientData["challenge"] === sha256(statement).toString("base64url") &&
    (clientData["crossOrigin"] === undefined || clientData["crossOrigin"] === false) &&
    clientData["topOrigin"] === undefined &&
    (flags & PRESENT_AND_VERIFIED) === PRESENT_AND_VERIFIED &&
    ((flags & BACKED_UP) === 0 || (flags & BACKUP_ELIGIBLE) !== 0)
  );
}

function parseClientData(proof: JsonObject): JsonObject | undefined {
  const client = decodeBase64(proof["client_data_json"], "base64url");
  const clientData = client && isUtf8(client) ? parseObject(client.toString()) : undefined;
  return clientData && !hasRepeatedMember(client!.toString()) ? clientData : undefined;
}

/** Checks that a passkey signed an assertion that passed `matchesAssertion`, on a page of its relying party. */
export function isSignedByPasskey(proof: JsonObject, key: Key): boolean {
  if (key.type !== "webauthn" || key.credential_id !== proof["credential_id"]) return false;
  const data = decodeBase64(proof["authenticator_data"], "base64url")!;
  const client = decodeBase64(proof["client_data_json"], "base64url")!;
  const signature = decodeBase64(proof["signature"], "base64url");
  const origin = stringOrUndefined(parseClientData(proof)?.["origin"]);
  if (!signature || origin === undefined || !isAllowedOrigin(origin, key)) return false;
  if (!data.subarray(0, 32).equals(sha256(key.rp_id))) return false;
  return isSignedBy(key.public_key, signature, Buffer.concat([data, sha256(client)]));
}

const isAllowedOrigin = (origin: string, { rp_id, origins }: Extract<Key, { type: "webauthn" }>): boolean =>
  origins?.includes(origin) ??
  (rp_id === "localhost" ? /^http:\/\/localhost(?::[1-9]\d{0,4})?$/.test(origin) : origin === `https://${rp_id}`);

/** DER of public keys before the key itself; for RSA, the algorithm only. */
const SPKI_ED25519 = Buffer.from("302a300506032b6570032100", "hex");
const SPKI_P256 = Buffer.from("3059301306072a8648ce3d020106082a8648ce3d030107034200", "hex");
const SPKI_RSA = Buffer.from("300d06092a864886f70d0101010500", "hex");

const startsWith = (bytes: Buffer, begin: Buffer): boolean => bytes.subarray(0, begin.length).equals(begin);

/** Checks that a passkey's public key, `spki`, made a signature. */
function isSignedBy(spki: Buffer, signature: Buffer, signed: Buffer): boolean {
  try {
    if (startsWith(spki, SPKI_ED25519)) return isEd25519(spki.subarray(SPKI_ED25519.length), signature, signed);
    if (startsWith(spki, SPKI_P256)) return isP256(spki.subarray(SPKI_P256.length), readTwoIntegers(signature), signed);
    return isRsa(spki, signature, signed);
  } catch {
    return false;
  }
}

function isEd25519(raw: Buffer, signature: Buffer, signed: Buffer): boolean {
  const key = parseEd25519Key(raw);
  return key !== undefined && verify(null, signed, key, signature);
}

/** Verifies ECDSA on P-256; `point`: 65 bytes, not compressed, `numbers`: r and s. Errors: those of Node. */
function isP256(point: Buffer, numbers: readonly Buffer[], signed: Buffer): boolean {
  if (point.length !== 65 || point[0] !== 4 || numbers.some(({ length }) => length > 32)) return false;
  const key = createPublicKey({ key: Buffer.concat([SPKI_P256, point]), format: "der", type: "spki" });
  const raw = Buffer.concat(numbers.map((number) => Buffer.concat([Buffer.alloc(32 - number.length), number])));
  return verify("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, raw);
}

/** Verifies RSA of 2048 to 16384 bits with PKCS #1 v1.5. Errors: those of Node, and `RangeError` for any other key. */
function isRsa(spki: Buffer, signature: Buffer, signed: Buffer): boolean {
  const [body, behind] = readElement(spki, 0x30);
  if (!startsWith(body, SPKI_RSA)) return false;
  // The first byte of a BIT STRING counts its unused bits.
  const [bits, more] = readElement(body.subarray(SPKI_RSA.length), 3);
  if (behind.length > 0 || more.length > 0 || bits[0] !== 0) return false;
  const [modulus, exponent] = readTwoIntegers(bits.subarray(1));
  const size = modulus.length;
  // The modulus has its highest bit set and is odd; the exponent has 4 bytes at most, is odd, and not 1.
  if (size < 256 || size > 2048 || modulus[0]! < 128 || modulus.at(-1)! % 2 === 0) return false;
  if (exponent.length > 4 || exponent.at(-1)! % 2 === 0 || (exponent.length === 1 && exponent[0] === 1)) return false;
  const key: KeyObject = createPublicKey({ key: spki, format: "der", type: "spki" });
  return verify("sha256", signed, key, signature);
}

/** Creates a reader of values in the wire format of SSH; it throws `RangeError` at the end of the bytes. */
function createSshReader(bytes: Buffer) {
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new RangeError("too short");
    return bytes.subarray(at, (at += length));
  };
  const string = (): Buffer => take(take(4).readUInt32BE());
  return { take, string, text: () => string().toString("latin1"), rest: () => bytes.length - at };
}

const encodeField = (data: string | Buffer): Buffer => {
  const bytes = Buffer.from(data);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};

const ARMOUR = /^-----BEGIN SSH SIGNATURE-----\n((?:[A-Za-z0-9+/=]+\n)+)-----END SSH SIGNATURE-----$/;

/** Decodes the armour of an SSH signature; its line ends may be CRLF, and blanks may surround it. */
function decodeArmour(text: string | undefined): Buffer | undefined {
  const plain = text?.replaceAll("\r\n", "\n").replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "") ?? "";
  return decodeBase64(ARMOUR.exec(plain)?.[1]!.replaceAll("\n", ""), "base64");
}

/** Returns the public key that signed a statement with `ssh-keygen -Y sign`; undefined where the proof is invalid. */
export function findSshSigner(statement: string, proof: JsonObject): Buffer | undefined {
  try {
    const outer = createSshReader(decodeArmour(stringOrUndefined(proof["signature"]))!);
    // The magic, and version 1.
    if (outer.take(10).toString("latin1") !== "SSHSIG\0\0\0\u0001") return undefined;
    const blob = outer.string();
    const [namespace, reserved, hash] = [outer.text(), outer.string(), outer.text()];
    const signature = outer.string();
    if (outer.rest() > 0 || namespace !== "countersign-consent" || reserved.length > 0) return undefined;
    if (hash !== "sha256" && hash !== "sha512") return undefined;
    const digest = createHash(hash).update(statement).digest();
    const parts = [namespace, "", hash, digest].map(encodeField);
    const signed = Buffer.concat([Buffer.from("SSHSIG"), ...parts]);
    return isSignedBySsh(blob, signature, signed) ? blob : undefined;
  } catch {
    return undefined;
  }
}

const ECDSA = new Set(["ecdsa-sha2-nistp256", "sk-ecdsa-sha2-nistp256@openssh.com"]);
const ED25519 = new Set(["ssh-ed25519", "sk-ssh-ed25519@openssh.com"]);

/** Verifies a signature in the wire format of SSH. Errors: `RangeError` where key or signature are malformed. */
function isSignedBySsh(blob: Buffer, signature: Buffer, signed: Buffer): boolean {
  const [key, own] = [createSshReader(blob), createSshReader(signature)];
  const type = key.text();
  const isEcdsa = ECDSA.has(type);
  if (own.text() !== type || !(isEcdsa || ED25519.has(type))) return false;
  if (isEcdsa && key.text() !== "nistp256") return false;
  const point = key.string();
  const isOfSecurityKey = type.startsWith("sk-");
  const application = isOfSecurityKey ? key.string() : undefined;
  const inner = own.string();
  const flagsAndCounter = isOfSecurityKey ? own.take(5) : undefined;
  if (key.rest() > 0 || own.rest() > 0) return false;
  if (flagsAndCounter && (flagsAndCounter[0]! & PRESENT_AND_VERIFIED) !== PRESENT_AND_VERIFIED) return false;
  // A security key signs the hash of its application, its flags and counter, and the hash of the text.
  const message =
    flagsAndCounter && application ? Buffer.concat([sha256(application), flagsAndCounter, sha256(signed)]) : signed;
  if (!isEcdsa) return isEd25519(point, inner, message);
  const numbers = createSshReader(inner);
  const [r, s] = [numbers.string(), numbers.string()].map(readPositiveInteger) as [Buffer, Buffer];
  return numbers.rest() === 0 && isP256(point, [r, s], message);
}
