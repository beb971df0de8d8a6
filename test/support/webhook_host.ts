/** A host product that is governed over HTTP: a real server with its own check of request signatures. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type HostChange, hostTable, LostChange } from "./host_table.ts";

/** A received request. */
export interface Received {
  operation: string;
  change_id: string;
  headers: IncomingMessage["headers"];
  // oxlint-disable-next-line no-explicit-any -- any JSON
  body: any;
}

/** A faulty response that replaces the host product's own. */
export type FaultyResponse = (response: ServerResponse, request: IncomingMessage) => unknown;

/** A running host product. */
export interface WebhookHost {
  url: string;
  port: number;
  received: Received[];
  /** Operations on the product, in order: `apply chg_1`. */
  effects: string[];
  /** The product's state of each change, by change id. */
  states: Map<string, string>;
  /** Returns the JSON of a target's value, or undefined if the target has none. */
  content(change: HostChange): string | undefined;
  /** Sets a target as another program does. */
  overwrite(change: HostChange, value: unknown): void;
  /** Replaces the next `times` responses of an operation, `before` or `after` the product has carried it out. */
  planFault(operation: string, when: "before" | "after", response: FaultyResponse, times?: number): void;
  stop(): Promise<void>;
}

/** Closes the connection without a response. */
export const loseConnection: FaultyResponse = (response) => response.socket!.destroy();

/** Responds with this status and body. */
export const respond =
  (status: number, body: unknown, headers: Record<string, string> = {}): FaultyResponse =>
  (response) =>
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));

/** Never responds. */
export const neverRespond: FaultyResponse = () => undefined;

/** Starts a host product, on any port unless one is passed. Requests without a valid signature are rejected with 401. */
export async function startWebhookHost(secret: string, requestedPort = 0): Promise<WebhookHost> {
  const received: Received[] = [];
  const effects: string[] = [];
  const states = new Map<string, string>();
  const faults = new Map<string, { when: string; respond: FaultyResponse; times: number }>();

  const table = hostTable();
  const operate = (operation: "apply" | "rollback", change: HostChange): { result: string } => {
    // A repeated operation has no effect. The first rollback of an unknown change has one: the change is then rolled back.
    const wasInForce = table.isInForce(change);
    const isNew = states.get(change.change_id) === undefined;
    const result = table[operation](change);
    if (table.isInForce(change) !== wasInForce || (isNew && operation === "rollback"))
      effects.push(`${operation} ${change.change_id}`);
    states.set(change.change_id, operation === "apply" ? "applied" : "rolled_back");
    return { result };
  };
  const perform = (operation: string, change: HostChange): unknown => {
    if (operation === "apply" || operation === "rollback") return operate(operation, change);
    if (operation === "verify") return { state: table.verify(change) };
    return { ok: true, preview: { would: "change" } };
  };
  const makeResponse = (operation: string, change: HostChange): FaultyResponse => {
    try {
      return respond(200, perform(operation, change), { "content-type": "application/json" });
    } catch (error) {
      if (error instanceof LostChange) return respond(409, { error: "the product has lost this change" });
      throw error;
    }
  };

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    if (!isSigned(secret, request.headers, text)) return void respond(401, { error: "not signed" })(response, request);
    const body = JSON.parse(text);
    const { operation } = body;
    const { change_id } = body.change;
    received.push({ operation, change_id, headers: request.headers, body });
    const planned = faults.get(operation);
    const fault = planned && planned.times-- > 0 ? planned : undefined;
    if (fault?.when === "before") return void fault.respond(response, request);
    const correctResponse = makeResponse(operation, body.change);
    void (fault?.respond ?? correctResponse)(response, request);
  });
  server.listen(requestedPort, "127.0.0.1");
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
    planFault: (operation, when, response, times = 1) => void faults.set(operation, { when, respond: response, times }),
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Verifies a signature of Standard Webhooks, written from its specification. */
function isSigned(secret: string, headers: IncomingMessage["headers"], body: string): boolean {
  const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const expected = createHmac("sha256", secret).update(content).digest();
  const received = Buffer.from(String(headers["webhook-signature"]).replace(/^v1,/, ""), "base64");
  return received.length === expected.length && timingSafeEqual(received, expected);
}
