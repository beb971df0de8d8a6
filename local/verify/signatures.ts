/** Verifies what passkeys and SSH keys sign, with Node's own cryptography and nothing of the service's code. */
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import type { Key } from "./policy.ts";

type Proof = Readonly<Record<string, unknown>>;

const sha256 = (data: string | Buffer): Buffer => createHash("sha256").update(data).digest();
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const PRESENT_AND_VERIFIED = 5;
const BACKUP_ELIGIBLE = 8;
const BACKED_UP = 16;

function fromBase64(value: unknown, as: "base64" | "base64url"): Buffer | undefined {
  const bytes = Buffer.from(text(value), as);
  return bytes.length > 0 && bytes.toString(as) === value ? bytes : undefined;
}

/** Whether an assertion is one of the statement, apart from its signature. */
export function isAssertionOf(statement: string, proof: Proof): boolean {
  const data = fromBase64(proof["authenticator_data"], "base64url");
  const client = fromBase64(proof["client_data_json"], "base64url");
  if (!data || !client || data.length < 37) return false;
  const flags = data[32]!;
  try {
    const said = JSON.parse(client.toString()) as Proof;
    return (
      said["type"] === "webauthn.get" &&
      said["challenge"] === sha256(statement).toString("base64url") &&
      (said["crossOrigin"] ?? false) === false &&
      said["topOrigin"] === undefined &&
      (flags & PRESENT_AND_VERIFIED) === PRESENT_AND_VERIFIED &&
      ((flags & BACKED_UP) === 0 || (flags & BACKUP_ELIGIBLE) !== 0)
    );
  } catch {
    return false;
  }
}

/** Whether a passkey signed an assertion, for its relying party and a page of it. */
export function isSignedByPasskey(proof: Proof, key: Key): boolean {
  const [data, client] = ["authenticator_data", "client_data_json"].map((name) =>
    fromBase64(proof[name], "base64url")!,
  );
  const signature = fromBase64(proof["signature"], "base64url");
  const rpId = text(key["rp_id"]);
  const { origin } = JSON.parse(client!.toString()) as { origin: unknown };
  const origins = key["origins"] as unknown[] | undefined;
  const own = rpId === "localhost" ? /^http:\/\/localhost(:\d+)?$/.test(text(origin)) : origin === `https://${rpId}`;
  if (!signature || !(origins ? origins.includes(origin) : own)) return false;
  if (key["credential_id"] !== proof["credential_id"] || !data!.subarray(0, 32).equals(sha256(rpId))) return false;
  return holds(Buffer.from(text(key["public_key"]), "base64url"), signature, Buffer.concat([data!, sha256(client!)]));
}

/** Whether a signature holds; `spki`: the public key. */
function holds(spki: Buffer, signature: Buffer, signed: Buffer): boolean {
  try {
    const key: KeyObject = createPublicKey({ key: spki, format: "der", type: "spki" });
    return verify(key.asymmetricKeyType === "ed25519" ? null : "sha256", signed, key, signature);
  } catch {
    return false;
  }
}

/** Reads values of the wire format of SSH one after another; `RangeError` where there are none left. */
function wire(bytes: Buffer) {
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new RangeError("too short");
    return bytes.subarray(at, (at += length));
  };
  const string = (): Buffer => take(take(4).readUInt32BE());
  return { take, string, rest: () => bytes.length - at };
}

const measured = (data: string | Buffer): Buffer => {
  const bytes = Buffer.from(data);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};

const ARMOUR = /^-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)\n-----END SSH SIGNATURE-----\n?$/;
const SPKI_ED25519 = Buffer.from("302a300506032b6570032100", "hex");
const SPKI_P256 = Buffer.from("3059301306072a8648ce3d020106082a8648ce3d030107034200", "hex");

/** The base64 of the public key that signed the statement with `ssh-keygen -Y sign`; undefined where none did. */
export function sshSignerOf(statement: string, proof: Proof): string | undefined {
  try {
    const bytes = fromBase64(ARMOUR.exec(text(proof["signature"]))?.[1]!.replaceAll("\n", ""), "base64")!;
    const outer = wire(bytes);
    if (outer.take(10).toString("latin1") !== "SSHSIG\0\0\0\u0001") return undefined;
    const [blob, namespace, reserved, hash, signature] = [1, 2, 3, 4, 5].map(outer.string) as [Buffer, ...Buffer[]];
    if (outer.rest() > 0 || namespace!.toString() !== "countersign-consent" || reserved!.length > 0) return undefined;
    if (!["sha256", "sha512"].includes(hash!.toString())) return undefined;
    const digest = createHash(hash!.toString()).update(statement).digest();
    const parts = [namespace!, reserved!, hash!, digest].map(measured);
    const signed = Buffer.concat([Buffer.from("SSHSIG"), ...parts]);
    return isSignedBySsh(blob, signature!, signed) ? blob.toString("base64") : undefined;
  } catch {
    return undefined;
  }
}

function isSignedBySsh(blob: Buffer, signature: Buffer, signed: Buffer): boolean {
  const [key, own] = [wire(blob), wire(signature)];
  const type = key.string().toString();
  const isEcdsa = /^(?:sk-)?ecdsa-sha2-nistp256(?:@openssh\.com)?$/.test(type);
  if (own.string().toString() !== type) return false;
  if (!isEcdsa && !/^(?:sk-)?ssh-ed25519(?:@openssh\.com)?$/.test(type)) return false;
  if (isEcdsa) key.string();
  const spki = Buffer.concat([isEcdsa ? SPKI_P256 : SPKI_ED25519, key.string()]);
  const inner = own.string();
  const der = isEcdsa ? derOf(inner) : inner;
  if (!type.startsWith("sk-")) return own.rest() === 0 && holds(spki, der, signed);
  const said = own.take(5);
  if (own.rest() > 0 || (said[0]! & PRESENT_AND_VERIFIED) !== PRESENT_AND_VERIFIED) return false;
  return holds(spki, der, Buffer.concat([sha256(key.string()), said, sha256(signed)]));
}

/** Two numbers of SSH as ASN.1 has them: both write them alike, behind other lengths. */
function derOf(numbers: Buffer): Buffer {
  const reader = wire(numbers);
  const [r, s] = [reader.string(), reader.string()];
  const body = Buffer.concat([Buffer.from([2, r.length]), r, Buffer.from([2, s.length]), s]);
  return Buffer.concat([Buffer.from([0x30, body.length]), body]);
}
