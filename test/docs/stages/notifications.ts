import { createServer, type IncomingHttpHeaders } from "node:http";
import { EventEmitter, once } from "node:events";
import { createServer as createTcpServer, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { client } from "../../support/client.ts";
import { difference } from "../shape.ts";
import type { Story } from "../story.ts";
import type { Requirements } from "./index.ts";

const SECRET = `whsec_${btoa("sesame, open the gate")}`;
const PROPOSAL = {
  target: "limits.uploads",
  summary: "Raise the limit",
  proposer: "pat",
  value: "50",
  affected_users: 40,
};
let sent: { headers: IncomingHttpHeaders; body: string };

const listening = async (server: Server): Promise<string> => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** A mail server that takes everything; tells of each message, its text decoded. */
function mailServer(received: EventEmitter): Server {
  return createTcpServer((socket) => {
    let data: string[] | undefined;
    const say = (words: string) => socket.write(`${words}\r\n`);
    socket.on("error", () => {});
    createInterface(socket)
      .on("error", () => {})
      .on("line", (line) => {
        if (data && line !== ".") return void data.push(line.replace(/^\.\./, "."));
        if (data) {
          const gap = data.indexOf("");
          const decoded = Buffer.from(data.slice(gap).join(""), "base64").toString();
          received.emit("mail", [...data.slice(0, gap + 1), decoded].join("\n"));
          data = undefined;
          return say("250 taken");
        }
        if (line.startsWith("DATA")) {
          data = [];
          return say("354 go on");
        }
        say(line.startsWith("QUIT") ? "221 bye" : "250 yes");
        if (line.startsWith("QUIT")) socket.end();
      });
    say("220 mail.acme.example");
  });
}

export const notifications: Requirements = {
  async stage() {
    const received = new EventEmitter();
    const web = createServer(async (request, response) => {
      const body = await text(request);
      response.end();
      const { type } = JSON.parse(body);
      received.emit(`${request.url!.split("/")[1]} ${type}`, { headers: request.headers, body });
    });
    const smtp = mailServer(received);
    const [http, mail] = await Promise.all([listening(web), listening(smtp)]);
    const sending = async (event: string, act: () => Promise<unknown>) => {
      const arrived = once(received, event);
      await act();
      return (await arrived)[0];
    };
    const proposing = (story: Story) => () => client(fetch, story.url(8420)).propose(PROPOSAL);
    return {
      stands: {
        "whsec_…": SECRET,
        "https://hooks.acme.example/countersign": `http://${http}/json`,
        "https://hooks.slack.com/services/T…/B…/…": `http://${http}/slack`,
        "https://prod-01.westeurope.logic.azure.com/workflows/…": `http://${http}/teams`,
        "smtp://mail.acme.example": `smtp://${mail}`,
      },
      readers: {
        async "json notification"(shown, story) {
          sent = await sending(`json ${shown.type}`, () =>
            client(fetch, story.url(8420)).bring("approved", { value: "true" }),
          );
          expect(difference(JSON.stringify(shown), sent.body, story.standIns)).toBeUndefined();
        },
        async "eml mail"(shown: string, story) {
          const came: string = await sending("mail", proposing(story));
          expect(difference(shown, came, story.standIns)).toBeUndefined();
        },
      },
      async close() {
        web.close();
        web.closeAllConnections();
        smtp.close();
      },
    };
  },
  afterwards(story) {
    test("its code takes what the service has sent", async () => {
      const { readWebhook } = await import(join(story().folder, "read_webhook.js"));
      expect(readWebhook(SECRET, sent.headers, sent.body)).toEqual(JSON.parse(sent.body));
    });
    test("its receiver sends no mail for what is not signed", async () => {
      const body = sent.body.replace("Show", "Hide");
      const headers = { "webhook-id": "evt_1", "webhook-timestamp": String(Math.floor(Date.now() / 1000)) };
      expect((await fetch(story().url(8425), { method: "POST", headers, body })).status).toBe(500);
      // Its line may arrive behind its answer.
      await story()
        .program(8425)
        .until((line) => line === "not signed with this secret" || undefined);
    });
  },
};
