/** Replaces the credentials of an intent by new ones, since a run does not have its secrets and private keys. */
import { type KeyObject, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { encodeWireString } from "../../lib/changes/rules/ssh_wire.ts";
import { NAMESPACE } from "../../lib/changes/proofs/ssh_signature.ts";
import { normalizeName } from "../../lib/changes/rules/names.ts";
import type { Proof } from "../../lib/changes/rules/proof.ts";
import { sha256 } from "../node_ports.ts";

/** The credentials of a principal, as an intent states them. */
interface StatedPrincipal {
  token_sha256?: string;
  keys?: { type: string; unattended?: boolean }[];
}

/** Signs a statement as a person. */
export type Sign = (statement: string) => Proof;

/** An intent with new credentials, and their secrets and signers by normalized name. */
export interface PlayableIntent {
  /** The rules of the intent with new keys and secrets, which only this process has. Use it only with a store in memory. */
  intent: object;
  secrets: ReadonlyMap<string, string>;
  signers: ReadonlyMap<string, Sign>;
}

/**
 * Replaces the secret of each agent and each key of each person by one of the same kind, so that rules have the same effect: a key
 * that needs its owner's touch is replaced by such a key, an unattended one by an unattended one.
 */
export function replaceCredentials(manifest: string): PlayableIntent {
  const intent = JSON.parse(manifest) as { principals?: Record<string, StatedPrincipal> };
  const secrets = new Map<string, string>();
  const signers = new Map<string, Sign>();
  for (const [statedName, principal] of Object.entries(intent.principals ?? {})) {
    const name = normalizeName(statedName);
    if (principal.token_sha256 !== undefined) {
      const secret = randomBytes(32).toString("hex");
      secrets.set(name, secret);
      principal.token_sha256 = sha256(secret);
    }
    const keys = (principal.keys ?? []).map(({ unattended }) => makeKey(unattended === true));
    // Any key of a person signs for the person.
    if (keys.length > 0) signers.set(name, keys[0]!.sign);
    if (principal.keys) principal.keys = keys.map(({ key }) => key);
  }
  return { intent, secrets, signers };
}

const APPLICATION = "ssh:";
/** Flags: the owner was present (1) and verified (4). */
const PRESENT_AND_VERIFIED = 1 | 4;

/** Makes an SSH key: a security key, or one that signs by itself. */
function makeKey(unattended: boolean) {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url");
  const type = unattended ? "ssh-ed25519" : "sk-ssh-ed25519@openssh.com";
  const blob = Buffer.concat([sshString(type), encodeWireString(raw), ...(unattended ? [] : [sshString(APPLICATION)])]);
  const key = { type: "ssh", public_key: `${type} ${blob.toString("base64")}`, ...(unattended && { unattended }) };
  return { key, sign: (statement: string): Proof => sshProof(statement, { type, blob, privateKey, unattended }) };
}

/** Makes an armoured SSHSIG, as `ssh-keygen -Y sign` does. */
function sshProof(
  statement: string,
  { type, blob, privateKey, unattended }: { type: string; blob: Buffer; privateKey: KeyObject; unattended: boolean },
): Proof {
  const header = [sshString(NAMESPACE), sshString(""), sshString("sha256")];
  const signed = Buffer.concat([Buffer.from("SSHSIG"), ...header, encodeWireString(digest(statement))]);
  // The flags, and a counter of 1.
  const touch = unattended ? Buffer.alloc(0) : Buffer.from([PRESENT_AND_VERIFIED, 0, 0, 0, 1]);
  const message = unattended ? signed : Buffer.concat([digest(APPLICATION), touch, digest(signed)]);
  const signature = Buffer.concat([sshString(type), encodeWireString(sign(null, message, privateKey)), touch]);
  const version = Buffer.from([0, 0, 0, 1]);
  const parts = [Buffer.from("SSHSIG"), version, encodeWireString(blob), ...header, encodeWireString(signature)];
  const lines = Buffer.concat(parts)
    .toString("base64")
    .match(/.{1,70}/g)!;
  return {
    type: "ssh",
    signature: `-----BEGIN SSH SIGNATURE-----\n${lines.join("\n")}\n-----END SSH SIGNATURE-----`,
  };
}

const sshString = (text: string): Uint8Array => encodeWireString(Buffer.from(text));
const digest = (data: string | Uint8Array): Buffer => Buffer.from(sha256(data), "hex");
