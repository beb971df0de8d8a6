/** Setup of docs/notifications.md: a web server and a mail server receive the notifications that the page shows. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import { EventEmitter, once } from "node:events";
import { createServer as createTcpServer, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { client } from "../../support/client.ts";
import { findDifference } from "../compare_output.ts";
import type { DocumentSetup } from "./index.ts";

const SECRET = `whsec_${btoa("sesame, open the gate")}`;
const PROPOSAL = {
  target: "limits.uploads",
  summary: "Raise the limit",
  proposer: "pat",
  value: "50",
  affected_users: 40,
};
/** The webhook that the check of `json notification` captured, for the tests after the last block. */
let sentWebhook: { headers: IncomingHttpHeaders; body: string };

const listen = async (server: Server): Promise<string> => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** Creates a mail server that accepts every message and emits it as `mail`, with its text decoded. */
function createMailServer(received: EventEmitter): Server {
  return createTcpServer((socket) => {
    let data: string[] | undefined;
    const reply = (line: string) => socket.write(`${line}\r\n`);
    socket.on("error", () => {});
    createInterface(socket)
      .on("error", () => {})
      .on("line", (line) => {
        // In SMTP a line of one dot ends the message, and a sender doubles the dot at the beginning of any other line.
        if (data && line !== ".") return void data.push(line.replace(/^\.\./, "."));
        if (data) {
          const headerEnd = data.indexOf("");
          const decoded = Buffer.from(data.slice(headerEnd).join(""), "base64").toString();
          received.emit("mail", [...data.slice(0, headerEnd + 1), decoded].join("\n"));
          data = undefined;
          return reply("250 taken");
        }
        if (line.startsWith("DATA")) {
          data = [];
          return reply("354 go on");
        }
        reply(line.startsWith("QUIT") ? "221 bye" : "250 yes");
        if (line.startsWith("QUIT")) socket.end();
      });
    reply("220 mail.acme.example");
  });
}

export const notifications: DocumentSetup = {
  async prepare() {
    const received = new EventEmitter();
    const web = createServer(async (request, response) => {
      const body = await text(request);
      response.end();
      const { type } = JSON.parse(body);
      received.emit(`${request.url!.split("/")[1]} ${type}`, { headers: request.headers, body });
    });
    const smtp = createMailServer(received);
    const [http, mail] = await Promise.all([listen(web), listen(smtp)]);
    /** Runs an action and returns the first notification of an event that arrives from then on. */
    const captureEvent = async (event: string, action: () => Promise<unknown>) => {
      const arrival = once(received, event);
      await action();
      return (await arrival)[0];
    };
    return {
      replacements: {
        "whsec_…": SECRET,
        "https://hooks.acme.example/countersign": `http://${http}/json`,
        "https://hooks.slack.com/services/T…/B…/…": `http://${http}/slack`,
        "https://prod-01.westeurope.logic.azure.com/workflows/…": `http://${http}/teams`,
        "smtp://mail.acme.example": `smtp://${mail}`,
      },
      exampleChecks: {
        async "json notification"(example, documentRun) {
          sentWebhook = await captureEvent(`json ${example.type}`, () =>
            client(fetch, documentRun.url(8420)).bring("approved", { value: "true" }),
          );
          expect(findDifference(JSON.stringify(example), sentWebhook.body, documentRun.runValues)).toBeUndefined();
        },
        async "eml mail"(example: string, documentRun) {
          const mail: string = await captureEvent("mail", () => client(fetch, documentRun.url(8420)).propose(PROPOSAL));
          expect(findDifference(example, mail, documentRun.runValues)).toBeUndefined();
        },
      },
      async close() {
        web.close();
        web.closeAllConnections();
        smtp.close();
      },
    };
  },
  declareTests(documentRun) {
    test("the page's code accepts the notification that the service sent", async () => {
      const { readWebhook } = await import(join(documentRun().folder, "read_webhook.js"));
      expect(readWebhook(SECRET, sentWebhook.headers, sentWebhook.body)).toEqual(JSON.parse(sentWebhook.body));
    });
    test("the page's receiver rejects a notification without a signature", async () => {
      const body = sentWebhook.body.replace("Show", "Hide");
      // `webhook-signature` is missing.
      const headers = { "webhook-id": "evt_1", "webhook-timestamp": String(Math.floor(Date.now() / 1000)) };
      expect((await fetch(documentRun().url(8425), { method: "POST", headers, body })).status).toBe(500);
      // The receiver's output line may arrive after its response.
      await documentRun()
        .program(8425)
        .until((line) => line === "not signed with this secret" || undefined);
    });
  },
};
