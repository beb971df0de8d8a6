import { join } from "node:path";
import { expect, test } from "vitest";
import { client } from "../../support/client.ts";
import { startWebhookHost, type WebhookHost } from "../../support/webhook_host.ts";
import { difference } from "../shape.ts";
import type { Requirements } from "./index.ts";

const SECRET = "sesame-open-the-gate";
let host: WebhookHost;

export const webhookAdapter: Requirements = {
  async stage() {
    host = await startWebhookHost(SECRET);
    return {
      stands: { "whsec_…": SECRET, "https://crm.acme.example/hooks/countersign": host.url },
      readers: {
        async "json request"(shown, story) {
          const { propose, must } = client(fetch, story.url(8420));
          const { change_id } = await propose({ value: "true" });
          for (const action of ["approve", "apply", "rollback"] as const) await must(action, change_id);
          const sent = host.received.find(({ operation }) => operation === "apply")!.body;
          expect(difference(JSON.stringify(shown), JSON.stringify(sent), story.standIns)).toBeUndefined();
        },
      },
      close: () => host.stop(),
    };
  },
  afterwards(story) {
    test("its code takes what the service has sent, and nothing else", async () => {
      const { readWebhook } = await import(join(story().folder, "read_webhook.js"));
      // Each cycle verifies what is applied once more.
      const operations = host.received.map(({ operation }) => operation);
      expect(operations.filter((operation, index) => operation !== operations[index - 1])).toEqual([
        "validate",
        "apply",
        "verify",
        "rollback",
        "verify",
      ]);
      for (const { headers, body } of host.received) {
        const text = JSON.stringify(body);
        expect(readWebhook(SECRET, headers, text)).toEqual(body);
        expect(() => readWebhook(SECRET, headers, `${text} `)).toThrow("not signed");
        expect(() => readWebhook("another secret, of others", headers, text)).toThrow("not signed");
        const old = { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - 301) };
        expect(() => readWebhook(SECRET, old, text)).toThrow("too old");
      }
    });
  },
};
