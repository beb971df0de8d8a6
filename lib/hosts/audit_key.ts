/** Ed25519 private keys that sign checkpoints and attestations, from the PEM text that `openssl genpkey -algorithm ed25519` writes. */
import type { CheckpointSigner } from "../audit/checkpoint.ts";
import { SettingInvalid } from "./settings.ts";

const ED25519 = { name: "Ed25519" };

/** Loads the signing key from the PEM text of a setting. Errors: `SettingInvalid`. */
export async function loadAuditKey(pem: string, setting = "SVC_AUDIT_KEY_PEM"): Promise<CheckpointSigner> {
  const key = await readKey(pem, setting);
  const { x } = (await crypto.subtle.exportKey("jwk", key)) as { x: string };
  return {
    publicKey: decodeBase64(x.replaceAll("-", "+").replaceAll("_", "/")),
    sign: async (text) => new Uint8Array(await crypto.subtle.sign(ED25519, key, text)),
  };
}

async function readKey(pem: string, setting: string): Promise<CryptoKey> {
  try {
    const [, base64] = /-----BEGIN PRIVATE KEY-----([\sA-Za-z0-9+/=]+)-----END PRIVATE KEY-----/.exec(pem)!;
    return await crypto.subtle.importKey("pkcs8", decodeBase64(base64!.replace(/\s/g, "")), ED25519, true, ["sign"]);
  } catch {
    throw new SettingInvalid(
      `${setting} holds no Ed25519 private key in PEM; make one with openssl genpkey -algorithm ed25519`,
    );
  }
}

const decodeBase64 = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
