/** docs/notifications.md: its code checks what the service signs, and its table names what the service sends. */
import { expect, test } from "vitest";
import { NOTIFICATION_TYPES } from "../../lib/operations/notify/notification.ts";
import { parseWebhookKey, signWebhook } from "../../lib/kit/webhook_signature.ts";
import { documents } from "./markdown.ts";

const page = documents().find(({ path }) => path === "docs/notifications.md")!;

type ReadWebhook = (secret: string, headers: Record<string, string>, body: string, now: number) => unknown;
async function readWebhook(): Promise<ReadWebhook> {
  const code = page.blocks.find(({ language }) => language === "js")!;
  return (await import(`data:text/javascript,${encodeURIComponent(code.text)}`)).readWebhook;
}

const NOW = Date.parse("2026-01-02T03:04:05.678Z");
const SECONDS = Math.floor(NOW / 1000);
const BODY = '{"id":"evt_1","type":"change.applied"}';
const signed = (secret: string, at = SECONDS) => ({
  "webhook-id": "evt_1",
  "webhook-timestamp": String(at),
  "webhook-signature": signWebhook(parseWebhookKey(secret), "evt_1", at, BODY),
});

test.each(["a secret of the two of us", `whsec_${btoa("0123456789abcdef")}`])(
  "its code takes what is signed with the secret %s, and nothing else",
  async (secret) => {
    const read = await readWebhook();
    expect(read(secret, signed(secret), BODY, NOW)).toEqual(JSON.parse(BODY));
    expect(() => read(secret, signed(secret), `${BODY} `, NOW)).toThrow("not signed");
    expect(() => read(secret, signed("another secret, of others"), BODY, NOW)).toThrow("not signed");
    expect(() => read(secret, { ...signed(secret), "webhook-id": "evt_2" }, BODY, NOW)).toThrow("not signed");
    expect(() => read(secret, signed(secret, SECONDS - 301), BODY, NOW)).toThrow("too old");
    expect(() => read(secret, { ...signed(secret), "webhook-timestamp": "soon" }, BODY, NOW)).toThrow("too old");
  },
);

test("it names every type of notification", () => {
  const named = page.prose.flatMap(({ text }) => /^\| `([a-z_]+\.[a-z_]+)`/.exec(text)?.[1] ?? []);
  expect(named).toEqual([...NOTIFICATION_TYPES]);
});
