/** Real Hono and Express applications on listening servers, with the service mounted in them. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import express, { type Express } from "express";
import { Hono } from "hono";
import { toNodeHandler } from "srvx/node";
import { type ContractOptions, type ContractService, type Make } from "../contract/http_contract.ts";
import type { Fetch } from "./client.ts";
import { openDeps, type TestDeps } from "./deps.ts";

/** Path under which the service is mounted. */
export const BASE = "/governance";

/** Converts a handler to a listener for Node and Express. */
export const onNode = (handler: Fetch): ((request: IncomingMessage, response: ServerResponse) => void) =>
  toNodeHandler(handler) as ReturnType<typeof onNode>;

/** Starts a Hono application in which `mount` mounts the service. */
export const inHono =
  (mount: (host: Hono, deps: TestDeps) => void): Make =>
  (options) =>
    listen(options, (deps) => {
      const host = new Hono();
      mount(host, deps);
      return onNode(async (request) => host.fetch(request));
    });

/** Starts an Express application in which `mount` mounts the service. */
export const inExpress =
  (mount: (host: Express, deps: TestDeps) => void): Make =>
  (options) =>
    listen(options, (deps) => {
      const host = express();
      mount(host, deps);
      return host;
    });

async function listen(
  options: ContractOptions,
  makeListener: (deps: TestDeps) => ReturnType<typeof onNode>,
): Promise<ContractService> {
  const deps = await openDeps(options);
  const server = createServer(makeListener(deps)).listen(0, "127.0.0.1");
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
