/** Credentials of a run: the runner replaces those of an intent, since it cannot know their secrets and private keys. */
import { type KeyObject, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { wireString } from "../../lib/changes/rules/ssh_wire.ts";
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

/** An intent with the runner's credentials, and what these are, by the names of principals as names are compared. */
export interface Equipped {
  /** The rules of the intent with new keys and secrets, which only this process has; for a store in memory alone. */
  intent: object;
  secrets: ReadonlyMap<string, string>;
  signers: ReadonlyMap<string, Sign>;
}

/**
 * Replaces the secret of each agent and each key of each person, one by one, so that every rule about them stays as it is: a
 * key that signs only in somebody's presence is replaced by such a key, an unattended one by an unattended one.
 */
export function equip(manifest: string): Equipped {
  const intent = JSON.parse(manifest) as { principals?: Record<string, StatedPrincipal> };
  const secrets = new Map<string, string>();
  const signers = new Map<string, Sign>();
  for (const [stated, principal] of Object.entries(intent.principals ?? {})) {
    const name = normalizeName(stated);
    if (principal.token_sha256 !== undefined) {
      const secret = randomBytes(32).toString("hex");
      secrets.set(name, secret);
      principal.token_sha256 = sha256(secret);
    }
    const pens = (principal.keys ?? []).map(({ unattended }) => makePen(unattended === true));
    if (pens.length > 0) signers.set(name, pens[0]!.sign);
    if (principal.keys) principal.keys = pens.map(({ key }) => key);
  }
  return { intent, secrets, signers };
}

const APPLICATION = "ssh:";
/** Somebody was present, and verified. */
const PRESENT_AND_VERIFIED = 5;

/** Makes an SSH key: a security key, or one that signs by itself. */
function makePen(unattended: boolean) {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url");
  const type = unattended ? "ssh-ed25519" : "sk-ssh-ed25519@openssh.com";
  const blob = Buffer.concat([text(type), wireString(raw), ...(unattended ? [] : [text(APPLICATION)])]);
  const key = { type: "ssh", public_key: `${type} ${blob.toString("base64")}`, ...(unattended && { unattended }) };
  return { key, sign: (statement: string): Proof => sshProof(statement, { type, blob, privateKey, unattended }) };
}

/** Makes an armoured SSHSIG, as `ssh-keygen -Y sign` does. */
function sshProof(
  statement: string,
  { type, blob, privateKey, unattended }: { type: string; blob: Buffer; privateKey: KeyObject; unattended: boolean },
): Proof {
  const about = [text(NAMESPACE), text(""), text("sha256")];
  const signed = Buffer.concat([Buffer.from("SSHSIG"), ...about, wireString(digest(statement))]);
  const touch = unattended ? Buffer.alloc(0) : Buffer.from([PRESENT_AND_VERIFIED, 0, 0, 0, 1]);
  const message = unattended ? signed : Buffer.concat([digest(APPLICATION), touch, digest(signed)]);
  const signature = Buffer.concat([text(type), wireString(sign(null, message, privateKey)), touch]);
  const version = Buffer.from([0, 0, 0, 1]);
  const parts = [Buffer.from("SSHSIG"), version, wireString(blob), ...about, wireString(signature)];
  const lines = Buffer.concat(parts)
    .toString("base64")
    .match(/.{1,70}/g)!;
  return {
    type: "ssh",
    signature: `-----BEGIN SSH SIGNATURE-----\n${lines.join("\n")}\n-----END SSH SIGNATURE-----`,
  };
}

const text = (word: string): Uint8Array => wireString(Buffer.from(word));
const digest = (data: string | Uint8Array): Buffer => Buffer.from(sha256(data), "hex");
