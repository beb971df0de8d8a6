/** Signs webhooks as Standard Webhooks 1.0 specifies, so that receivers can use existing libraries. */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";

/** Least length of a key that cannot be guessed. */
const MIN_KEY_BYTES = 16;

/** The secret cannot be used as a key; the message gives the reason and never repeats the secret. */
export class SecretRejected extends Error {
  override readonly name = "SecretRejected";
}

/** Returns the key of a secret: the bytes after `whsec_` in base64, else the text itself. Throws `SecretRejected`. */
export function parseWebhookKey(secret: string): Uint8Array {
  const key = secret.startsWith("whsec_") ? decodeKey(secret.slice(6)) : utf8ToBytes(secret);
  if (key.length < MIN_KEY_BYTES) throw new SecretRejected(`must have ${MIN_KEY_BYTES} characters or more`);
  return key;
}

function decodeKey(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    throw new SecretRejected("must be base64 after whsec_");
  }
}

/** Returns the header `webhook-signature`: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`; `timestamp` in seconds. */
export function signWebhook(key: Uint8Array, id: string, timestamp: number, body: string): string {
  const mac = hmac(sha256, key, utf8ToBytes(`${id}.${timestamp}.${body}`));
  return `v1,${btoa(String.fromCharCode(...mac))}`;
}
