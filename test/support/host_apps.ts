/** Real Hono and Express applications on listening servers, with the service in them. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import express, { type Express } from "express";
import { Hono } from "hono";
import { toNodeHandler } from "srvx/node";
import { type ContractOptions, type ContractService, type Make } from "../contract/http_contract.ts";
import type { Fetch } from "./client.ts";
import { opened, type TestDeps } from "./deps.ts";

/** Path under which the service is mounted. */
export const BASE = "/governance";

/** A handler as Node and Express call it. */
export const onNode = (handler: Fetch): ((request: IncomingMessage, response: ServerResponse) => void) =>
  toNodeHandler(handler) as ReturnType<typeof onNode>;

/** A service in a Hono application, where `mount` puts it. */
export const inHono =
  (mount: (host: Hono, deps: TestDeps) => void): Make =>
  (options) =>
    listening(options, (deps) => {
      const host = new Hono();
      mount(host, deps);
      return onNode(async (request) => host.fetch(request));
    });

/** A service in an Express application, where `mount` puts it. */
export const inExpress =
  (mount: (host: Express, deps: TestDeps) => void): Make =>
  (options) =>
    listening(options, (deps) => {
      const host = express();
      mount(host, deps);
      return host;
    });

async function listening(
  options: ContractOptions,
  hostOver: (deps: TestDeps) => ReturnType<typeof onNode>,
): Promise<ContractService> {
  const deps = await opened(options);
  const server = createServer(hostOver(deps)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE}`,
    fetch: (request) => fetch(request),
    advance: deps.clock.advance,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
      await deps.store.close();
    },
  };
}
