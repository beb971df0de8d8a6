/** Loads the Ed25519 private key that signs checkpoints from a PEM file, as `openssl genpkey -algorithm ed25519` writes it. */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { CheckpointSigner } from "../lib/audit/checkpoint.ts";

/** Loads the key. Errors: one line for people where the file cannot be read or has no such key. */
export function loadAuditKey(path: string, warn: (message: string) => void, option = "--audit-key"): CheckpointSigner {
  const key = readKey(path, option);
  if (key.asymmetricKeyType !== "ed25519")
    throw new Error(`${option} ${path}: the key is ${key.asymmetricKeyType}, Ed25519 is needed`);
  if (process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0)
    warn(`${option} ${path} can be read by other users; set its mode to 600`);
  const { x } = createPublicKey(key).export({ format: "jwk" });
  return {
    publicKey: new Uint8Array(Buffer.from(x!, "base64url")),
    sign: (text) => new Uint8Array(sign(null, text, key)),
  };
}

function readKey(path: string, option: string): KeyObject {
  let pem: Buffer;
  try {
    pem = readFileSync(path);
  } catch (error) {
    throw new Error(`${option} ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  try {
    return createPrivateKey(pem);
  } catch {
    throw new Error(`${option} ${path} holds no private key in PEM; make one with openssl genpkey -algorithm ed25519`);
  }
}
