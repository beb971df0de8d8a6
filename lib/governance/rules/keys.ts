/** The keys that people sign their decisions with, as an intent lists them. */
import * as z from "zod";
import { base64Bytes, base64Of, base64UrlBytes } from "../../kit/base64.ts";
import { portableSha256 } from "../../kit/platform.ts";
import { filled, list, object } from "./fields.ts";
import { wireReader } from "./ssh_wire.ts";

/** How a passkey signs. */
export type Algorithm = "ES256" | "EdDSA" | "RS256";

/** The public key of a passkey; `raw` tells keys apart however they are written. */
export interface PasskeyMaterial {
  algorithm: Algorithm;
  spki: Uint8Array<ArrayBuffer>;
  raw: Uint8Array<ArrayBuffer>;
}

/** What an SSH key is; `application` where it is kept by a security key, which signs only when a person is there. */
export interface SshMaterial {
  type: SshKeyType;
  blob: Uint8Array<ArrayBuffer>;
  raw: Uint8Array<ArrayBuffer>;
  application?: Uint8Array<ArrayBuffer>;
}

/** The SSH keys that can be named: those of security keys, and those that sign by themselves. */
const SSH_KEY_TYPES = [
  "sk-ssh-ed25519@openssh.com",
  "sk-ecdsa-sha2-nistp256@openssh.com",
  "ssh-ed25519",
  "ecdsa-sha2-nistp256",
] as const;
export type SshKeyType = (typeof SSH_KEY_TYPES)[number];

/** What every SubjectPublicKeyInfo of these kinds begins with; of RSA behind the outermost length. */
const SPKI = {
  ES256: "3059301306072a8648ce3d020106082a8648ce3d03010703420004",
  EdDSA: "302a300506032b6570032100",
  RS256: "300d06092a864886f70d0101010500",
} as const;
const SMALLEST_RSA = 294;

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Reads the public key of a passkey, base64url of a SubjectPublicKeyInfo; undefined for one that cannot be used. */
export function passkeyMaterial(publicKey: string): PasskeyMaterial | undefined {
  const spki = base64UrlBytes(publicKey);
  if (!spki) return undefined;
  const hex = hexOf(spki);
  if (hex.startsWith(SPKI.ES256) && spki.length === 91) return { algorithm: "ES256", spki, raw: spki.slice(-65) };
  if (hex.startsWith(SPKI.EdDSA) && spki.length === 44) return { algorithm: "EdDSA", spki, raw: spki.slice(-32) };
  const isRsa = hex.startsWith("3082") && hex.startsWith(SPKI.RS256, 8) && spki.length >= SMALLEST_RSA;
  return isRsa ? { algorithm: "RS256", spki, raw: spki } : undefined;
}

/** Reads a public key as it stands in a `.pub` file; undefined for one that cannot be used. */
export function sshMaterial(publicKey: string): SshMaterial | undefined {
  const [type, encoded = ""] = publicKey.split(" ") as [SshKeyType, string?];
  const blob = base64Bytes(encoded);
  if (!blob || !SSH_KEY_TYPES.includes(type)) return undefined;
  try {
    const reader = wireReader(blob);
    if (reader.text() !== type) return undefined;
    const isEcdsa = type.includes("ecdsa");
    if (isEcdsa && reader.text() !== "nistp256") return undefined;
    const raw = reader.string();
    const application = type.startsWith("sk-") ? { application: reader.string() } : {};
    reader.end();
    if (raw.length !== (isEcdsa ? 65 : 32) || (isEcdsa && raw[0] !== 4)) return undefined;
    return { type, blob, raw, ...application };
  } catch {
    return undefined;
  }
}

/** `SHA256:` and the digest in base64: of an SSH key what `ssh-keygen -l` shows, of a passkey that of its public key. */
const fingerprint = (bytes: Uint8Array): string => {
  const digest = portableSha256(bytes)
    .match(/../g)!
    .map((byte) => parseInt(byte, 16));
  return `SHA256:${base64Of(Uint8Array.from(digest)).replaceAll("=", "")}`;
};

/** What cannot be read is judged no further. */
const readAs = (what: string) => ({ message: `must be ${what}`, abort: true });

const base64Url = (what: string) =>
  filled.max(2000).refine((text) => base64UrlBytes(text) !== undefined, readAs(`${what} in base64url without padding`));

const passkey = object({
  type: z.literal("webauthn"),
  credential_id: base64Url("the credential id"),
  public_key: base64Url("the public key (SPKI)").refine(
    (text) => passkeyMaterial(text) !== undefined,
    readAs("a public key of ES256, Ed25519 or RS256 (2048 bits or more), as getPublicKey() gives it"),
  ),
  rp_id: filled.regex(/^(?:localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)+)$/, "must be a host name in lower case"),
  origins: list(filled).min(1, "must name an origin; without the field it is https:// and the rp_id").optional(),
}).superRefine(({ rp_id, origins = [] }, context) => {
  for (const [index, origin] of origins.entries())
    if (!isOriginOf(origin, rp_id))
      context.addIssue({ code: "custom", path: ["origins", index], message: `must be an https origin of ${rp_id}` });
});

const ssh = object({
  type: z.literal("ssh"),
  public_key: filled
    .max(2000)
    .refine((text) => sshMaterial(text) !== undefined, readAs(`a line of a .pub file: ${SSH_KEY_TYPES.join(", ")}`)),
  unattended: z.boolean("must be true or false").default(false),
}).superRefine(({ public_key, unattended }, context) => {
  const material = sshMaterial(public_key);
  if (!material || unattended === (material.application === undefined)) return;
  const message = unattended
    ? "is for keys that sign by themselves; a security key is always asked for the person's presence"
    : `must be true beside ${material.type}: such a key signs by itself, and any program of its owner can use it`;
  context.addIssue({ code: "custom", path: ["unattended"], message });
});

/** Secure contexts only, and of the relying party or below it. */
function isOriginOf(origin: string, rpId: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { origin: own, protocol, hostname } = new URL(origin);
  const secure = protocol === "https:" || (protocol === "http:" && hostname === "localhost");
  return secure && own === origin && (hostname === rpId || hostname.endsWith(`.${rpId}`));
}

/** One key of the intent, with the id by which entries name it. */
export const keySchema = z
  .discriminatedUnion("type", [passkey, ssh], "must have the type webauthn or ssh")
  .transform((key) => ({
    ...key,
    id: fingerprint(key.type === "ssh" ? sshMaterial(key.public_key)!.blob : passkeyMaterial(key.public_key)!.spki),
  }));
export type Key = z.output<typeof keySchema>;
export type PasskeyKey = Extract<Key, { type: "webauthn" }>;
export type SshKey = Extract<Key, { type: "ssh" }>;

/** What no two people may share: a signature with the one would be one with the other, however the key is written. */
export const marksOf = (key: Key): string[] =>
  key.type === "ssh"
    ? [hexOf(sshMaterial(key.public_key)!.raw)]
    : [hexOf(passkeyMaterial(key.public_key)!.raw), key.credential_id];

/** Whether a page of this origin may ask for the key: those that it lists, else its relying party's own. */
export const mayAsk = (origin: string, { rp_id, origins }: PasskeyKey): boolean =>
  origins?.includes(origin) ??
  (rp_id === "localhost" ? /^http:\/\/localhost(?::[1-9]\d{0,4})?$/.test(origin) : origin === `https://${rp_id}`);
