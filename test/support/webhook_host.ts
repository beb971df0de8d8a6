/** A host product that is governed over HTTP: a real server, with code of its own to check who asks. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type HostChange, hostTable, LostChange } from "./host_table.ts";

/** One request as it arrived. */
export interface Received {
  operation: string;
  change_id: string;
  headers: IncomingMessage["headers"];
  // oxlint-disable-next-line no-explicit-any -- whatever was sent
  body: any;
}

/** Answers in place of the host product, after its work was done or before. */
export type Trouble = (response: ServerResponse, request: IncomingMessage) => unknown;

/** A running host product. */
export interface WebhookHost {
  url: string;
  port: number;
  received: Received[];
  /** Operations on the product, in order: `apply chg_1`. */
  effects: string[];
  /** State of the product, by change. */
  states: Map<string, string>;
  /** The JSON that a target holds; undefined: nothing. */
  content(change: HostChange): string | undefined;
  /** Sets a target as another program would. */
  overwrite(change: HostChange, value: unknown): void;
  /** From now on for so many requests of an operation: the work is done (`after`) or not (`before`), then this. */
  trouble(operation: string, when: "before" | "after", trouble: Trouble, times?: number): void;
  stop(): Promise<void>;
}

/** Loses the connection. */
export const lost: Trouble = (response) => response.socket!.destroy();

/** Answers something else. */
export const answers =
  (status: number, body: unknown, headers: Record<string, string> = {}): Trouble =>
  (response) =>
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));

/** Never answers. */
export const silent: Trouble = () => undefined;

/** Starts one, on any port unless one is named; requests that are not signed with this secret are refused. */
export async function startWebhookHost(secret: string, at = 0): Promise<WebhookHost> {
  const received: Received[] = [];
  const effects: string[] = [];
  const states = new Map<string, string>();
  const troubles = new Map<string, { when: string; trouble: Trouble; times: number }>();

  const table = hostTable();
  const change = (operation: "apply" | "rollback", asked: HostChange): { result: string } => {
    const wasShown = table.isShown(asked);
    const isNew = states.get(asked.change_id) === undefined;
    const result = table[operation](asked);
    if (table.isShown(asked) !== wasShown || (isNew && operation === "rollback"))
      effects.push(`${operation} ${asked.change_id}`);
    states.set(asked.change_id, operation === "apply" ? "applied" : "rolled_back");
    return { result };
  };
  const work = (operation: string, asked: HostChange): unknown => {
    if (operation === "apply" || operation === "rollback") return change(operation, asked);
    if (operation === "verify") return { state: table.verify(asked) };
    return { ok: true, preview: { would: "change" } };
  };
  const answerTo = (operation: string, asked: HostChange): Trouble => {
    try {
      return answers(200, work(operation, asked), { "content-type": "application/json" });
    } catch (error) {
      if (error instanceof LostChange) return answers(409, { error: "the product shows nothing of this change" });
      throw error;
    }
  };

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    if (!isSigned(secret, request.headers, text)) return void answers(401, { error: "not signed" })(response, request);
    const body = JSON.parse(text);
    const { operation } = body;
    const { change_id } = body.change;
    received.push({ operation, change_id, headers: request.headers, body });
    const found = troubles.get(operation);
    const trouble = found && found.times-- > 0 ? found : undefined;
    if (trouble?.when === "before") return void trouble.trouble(response, request);
    const answer = answerTo(operation, body.change);
    void (trouble?.trouble ?? answer)(response, request);
  });
  server.listen(at, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hooks/sesame`,
    port,
    received,
    effects,
    states,
    content: table.content,
    overwrite: table.overwrite,
    trouble: (operation, when, trouble, times = 1) => void troubles.set(operation, { when, trouble, times }),
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Standard Webhooks, as its text has it. */
function isSigned(secret: string, headers: IncomingMessage["headers"], body: string): boolean {
  const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const expected = createHmac("sha256", secret).update(content).digest();
  const given = Buffer.from(String(headers["webhook-signature"]).replace(/^v1,/, ""), "base64");
  return given.length === expected.length && timingSafeEqual(given, expected);
}
