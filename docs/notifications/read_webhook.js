// read_webhook.js
import { createHmac, timingSafeEqual } from "node:crypto";

export function readWebhook(secret, headers, body, now = Date.now()) {
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : Buffer.from(secret);
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  if (!(Math.abs(now / 1000 - Number(timestamp)) <= 300)) throw new Error("too old, or a clock is wrong");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
  const genuine = String(headers["webhook-signature"])
    .split(" ")
    .filter((signature) => signature.startsWith("v1,"))
    .map((signature) => Buffer.from(signature.slice(3), "base64"))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
  if (!genuine) throw new Error("not signed with this secret");
  return JSON.parse(body);
}
