/** The code in docs/notifications.md verifies the service's signatures, and the page's table lists all notification types. */
import { expect, test } from "vitest";
import { NOTIFICATION_TYPES } from "../../lib/operations/notify/notification.ts";
import { parseWebhookKey, signWebhook } from "../../lib/kit/webhook_signature.ts";
import { documents } from "./markdown.ts";

const page = documents().find(({ path }) => path === "docs/notifications.md")!;

type ReadWebhook = (secret: string, headers: Record<string, string>, body: string, now: number) => unknown;
async function importReadWebhook(): Promise<ReadWebhook> {
  const code = page.blocks.find(({ language }) => language === "js")!;
  return (await import(`data:text/javascript,${encodeURIComponent(code.text)}`)).readWebhook;
}

const NOW = Date.parse("2026-01-02T03:04:05.678Z");
const SECONDS = Math.floor(NOW / 1000);
const BODY = '{"id":"evt_1","type":"change.applied"}';
const signHeaders = (secret: string, at = SECONDS) => ({
  "webhook-id": "evt_1",
  "webhook-timestamp": String(at),
  "webhook-signature": signWebhook(parseWebhookKey(secret), "evt_1", at, BODY),
});

test.each(["a secret of the two of us", `whsec_${btoa("0123456789abcdef")}`])(
  "the page's code accepts only notifications signed with the secret %s",
  async (secret) => {
    const readWebhook = await importReadWebhook();
    expect(readWebhook(secret, signHeaders(secret), BODY, NOW)).toEqual(JSON.parse(BODY));
    expect(() => readWebhook(secret, signHeaders(secret), `${BODY} `, NOW)).toThrow("not signed");
    expect(() => readWebhook(secret, signHeaders("another secret, of others"), BODY, NOW)).toThrow("not signed");
    expect(() => readWebhook(secret, { ...signHeaders(secret), "webhook-id": "evt_2" }, BODY, NOW)).toThrow(
      "not signed",
    );
    // The code accepts signatures of the last 300 seconds.
    expect(() => readWebhook(secret, signHeaders(secret, SECONDS - 301), BODY, NOW)).toThrow("too old");
    expect(() => readWebhook(secret, { ...signHeaders(secret), "webhook-timestamp": "soon" }, BODY, NOW)).toThrow(
      "too old",
    );
  },
);

test("the page's table lists every type of notification", () => {
  const listed = page.prose.flatMap(({ text }) => /^\| `([a-z_]+\.[a-z_]+)`/.exec(text)?.[1] ?? []);
  expect(listed).toEqual([...NOTIFICATION_TYPES]);
});
