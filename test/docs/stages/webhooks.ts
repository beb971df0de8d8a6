import { createServer, type IncomingHttpHeaders } from "node:http";
import { EventEmitter, once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { client } from "../../support/client.ts";
import { difference } from "../shape.ts";
import type { Own } from "./index.ts";

const SECRET = `whsec_${btoa("sesame, open the gate")}`;
let sent: { headers: IncomingHttpHeaders; body: string };

export const webhooks: Own = {
  async stage() {
    const received = new EventEmitter();
    const server = createServer(async ({ headers }, response) => {
      const body = await text(response.req);
      response.end();
      received.emit(JSON.parse(body).type, { headers, body });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return {
      stands: { "whsec_…": SECRET, "https://hooks.acme.example/countersign": `http://127.0.0.1:${port}/countersign` },
      readers: {
        async "json notification"(shown, story) {
          const decided = once(received, shown.type);
          await client(fetch, story.url(8420)).bring("approved");
          [sent] = await decided;
          expect(difference(JSON.stringify(shown), sent.body, story.standIns)).toBeUndefined();
        },
      },
      async close() {
        server.close();
        server.closeAllConnections();
      },
    };
  },
  afterwards(story) {
    test("its code takes what the service has sent", async () => {
      const { readWebhook } = await import(join(story().folder, "read_webhook.js"));
      expect(readWebhook(SECRET, sent.headers, sent.body)).toEqual(JSON.parse(sent.body));
    });
  },
};
