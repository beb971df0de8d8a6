/** A software authenticator: passkeys and SSH keys whose signatures a test can manipulate. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import type { Proof } from "../../lib/changes/rules/proof.ts";

const sha256 = (data: string | Uint8Array): Buffer => createHash("sha256").update(data).digest();
const base64Url = (data: string | Uint8Array): string => Buffer.from(data).toString("base64url");

/** Parts of an assertion that a test may change. */
export interface AssertionChanges {
  type?: string;
  origin?: string;
  rp_id?: string;
  /** Authenticator flags: 1 user present, 4 user verified, 8 backup eligible, 16 backed up. */
  flags?: number;
  /** Further members of the client data. */
  client?: object;
  challenge?: string;
  /** Rewrites the text of the client data. */
  rewrite?: (text: string) => string;
}

/** A passkey: its key in an intent, and a function that signs statements. */
export interface Passkey {
  key: { type: "webauthn"; credential_id: string; public_key: string; rp_id: string; origins?: string[] };
  sign(statement: string, changes?: AssertionChanges): Extract<Proof, { type: "webauthn" }>;
}

const KINDS = {
  ES256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  EdDSA: () => generateKeyPairSync("ed25519"),
  RS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
};

/** A pair of keys. */
export interface KeyPair {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

/** Derives an Ed25519 key from a seed, so that signatures are the same in each run. */
export function seededKey(seed: string): KeyPair {
  // All that precedes the 32 bytes of an Ed25519 key in PKCS #8.
  const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8, sha256(seed)]), format: "der", type: "pkcs8" });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

/** Makes a passkey for a relying party, with new keys by default. */
export function passkey(
  algorithm: keyof typeof KINDS = "ES256",
  {
    rp_id = "gov.acme.example",
    origins,
    keys = KINDS[algorithm](),
    credential_id = base64Url(randomBytes(16)),
  }: { rp_id?: string; origins?: string[]; keys?: KeyPair; credential_id?: string } = {},
): Passkey {
  const { publicKey, privateKey } = keys;
  const public_key = base64Url(publicKey.export({ type: "spki", format: "der" }));
  return {
    key: { type: "webauthn", credential_id, public_key, rp_id, ...(origins ? { origins } : {}) },
    sign(statement, changes = {}) {
      const { type = "webauthn.get", origin = origins?.[0] ?? `https://${rp_id}`, flags = 5, client = {} } = changes;
      const { challenge = base64Url(sha256(statement)), rewrite = (text: string) => text } = changes;
      const clientData = rewrite(JSON.stringify({ type, challenge, origin, crossOrigin: false, ...client }));
      // The signature counter may be any number.
      const flagsAndCounter = Buffer.from([flags, 0, 0, 0, 7]);
      const data = Buffer.concat([sha256(changes.rp_id ?? rp_id), flagsAndCounter]);
      const signed = Buffer.concat([data, sha256(clientData)]);
      return {
        type: "webauthn",
        credential_id,
        authenticator_data: base64Url(data),
        client_data_json: base64Url(clientData),
        signature: base64Url(sign(algorithm === "EdDSA" ? null : "sha256", signed, privateKey)),
      };
    },
  };
}

const encodeUint32 = (number: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(number);
  return bytes;
};
const sshString = (data: string | Uint8Array): Buffer =>
  Buffer.concat([encodeUint32(Buffer.from(data).length), Buffer.from(data)]);

/** Converts a signature from DER to the encoding of SSH. */
const encodeEcdsaSignature = (der: Buffer): Buffer => {
  // In DER, two bytes precede the sequence, `r` and `s` each: a tag and the length.
  const r = der.subarray(4, 4 + der[3]!);
  return Buffer.concat([sshString(r), sshString(der.subarray(6 + r.length))]);
};

/** Returns the raw key at the end of the SPKI form: 65 bytes of a P-256 point, or 32 bytes of Ed25519. */
const rawPublicKey = (publicKey: KeyObject, length: number): Buffer =>
  publicKey.export({ type: "spki", format: "der" }).subarray(-length);

/** An SSH key: its key in an intent, and a function that makes an SSHSIG of a statement. */
export interface SshSigner {
  key: { type: "ssh"; public_key: string; unattended?: true };
  sign(
    statement: string,
    changes?: { namespace?: string; flags?: number; hash?: "sha256" | "sha512" },
  ): Extract<Proof, { type: "ssh" }>;
}

/** Makes an SSH key, with new keys by default; a type that begins with `sk-` is on a security key. */
export function sshSigner(
  type:
    | "sk-ssh-ed25519@openssh.com"
    | "sk-ecdsa-sha2-nistp256@openssh.com"
    | "ssh-ed25519"
    | "ecdsa-sha2-nistp256" = "sk-ssh-ed25519@openssh.com",
  keys: KeyPair = type.includes("ecdsa") ? KINDS.ES256() : KINDS.EdDSA(),
): SshSigner {
  const isEcdsa = type.includes("ecdsa");
  const isSecurityKey = type.startsWith("sk-");
  const { publicKey, privateKey } = keys;
  const blob = Buffer.concat([
    sshString(type),
    ...(isEcdsa
      ? [sshString("nistp256"), sshString(rawPublicKey(publicKey, 65))]
      : [sshString(rawPublicKey(publicKey, 32))]),
    // The application of a key on a security key.
    ...(isSecurityKey ? [sshString("ssh:")] : []),
  ]);
  const signMessage = (message: Uint8Array): Buffer => {
    const signature = sign(isEcdsa ? "sha256" : null, message, privateKey);
    return sshString(isEcdsa ? encodeEcdsaSignature(signature) : signature);
  };
  return {
    key: {
      type: "ssh",
      public_key: `${type} ${blob.toString("base64")} ana`,
      ...(isSecurityKey ? {} : { unattended: true as const }),
    },
    sign(statement, { namespace = "countersign-consent", flags = 5, hash = "sha512" } = {}) {
      const head = [sshString(namespace), sshString(""), sshString(hash)];
      const hashed = createHash(hash).update(statement).digest();
      const signed = Buffer.concat([Buffer.from("SSHSIG"), ...head, sshString(hashed)]);
      const flagsAndCounter = Buffer.concat([Buffer.from([flags]), encodeUint32(9)]);
      const message = isSecurityKey ? Buffer.concat([sha256("ssh:"), flagsAndCounter, sha256(signed)]) : signed;
      const signature = Buffer.concat([
        sshString(type),
        signMessage(message),
        ...(isSecurityKey ? [flagsAndCounter] : []),
      ]);
      return {
        type: "ssh",
        signature: encodeSshSignature(
          Buffer.concat([Buffer.from("SSHSIG"), encodeUint32(1), sshString(blob), ...head, sshString(signature)]),
        ),
      };
    },
  };
}

/** Encodes a signature as `ssh-keygen -Y sign` does. */
export const encodeSshSignature = (blob: Uint8Array): string => {
  const lines = Buffer.from(blob)
    .toString("base64")
    .match(/.{1,70}/g)!;
  return `-----BEGIN SSH SIGNATURE-----\n${lines.join("\n")}\n-----END SSH SIGNATURE-----\n`;
};

/** Decodes an encoded SSH signature. */
export const decodeSshSignature = (text: string): Buffer =>
  Buffer.from(text.split("\n").slice(1, -2).join(""), "base64");
