/** Computes HMACs with Node's cryptography. */
import { createHmac, createSecretKey } from "node:crypto";
import type { Mac } from "../../lib/link/keys.ts";

/** HMAC-SHA256, about twice as fast as the portable implementation. */
export const nodeMac: Mac = (key) => {
  const secret = createSecretKey(key);
  return (data) => createHmac("sha256", secret).update(data).digest();
};
