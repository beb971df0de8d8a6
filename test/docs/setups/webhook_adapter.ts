/** Setup of docs/webhook_adapter.md: a host that receives the webhook's requests. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { client } from "../../support/client.ts";
import { startWebhookHost, type WebhookHost } from "../../support/webhook_host.ts";
import { findDifference } from "../compare_output.ts";
import type { DocumentSetup } from "./index.ts";

const SECRET = "sesame-open-the-gate";
let host: WebhookHost;

export const webhookAdapter: DocumentSetup = {
  async prepare() {
    host = await startWebhookHost(SECRET);
    return {
      replacements: { "whsec_…": SECRET, "https://crm.acme.example/hooks/countersign": host.url },
      exampleChecks: {
        async "json request"(example, documentRun) {
          const { propose, must } = client(fetch, documentRun.url(8420));
          const { change_id } = await propose({ value: "true" });
          for (const action of ["approve", "apply", "rollback"] as const) await must(action, change_id);
          const sent = host.received.find(({ operation }) => operation === "apply")!.body;
          expect(findDifference(JSON.stringify(example), JSON.stringify(sent), documentRun.runValues)).toBeUndefined();
        },
      },
      close: () => host.stop(),
    };
  },
  declareTests(documentRun) {
    test("the page's code accepts only requests that the service signed recently", async () => {
      const { readWebhook } = await import(join(documentRun().folder, "read_webhook.js"));
      // Repeated operations are removed, since each cycle verifies applied values again.
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
        // A signature is recent for five minutes.
        const old = { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - 301) };
        expect(() => readWebhook(SECRET, old, text)).toThrow("too old");
      }
    });
  },
};
