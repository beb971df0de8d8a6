/** The handlers pass the HTTP contract in a Hono application. */
import { app, endpoints } from "../../handlers/index.ts";
import { BASE, inHono } from "../support/host_apps.ts";
import { httpContract, OF_A_FRAMEWORK } from "./http_contract.ts";

httpContract(
  "a Hono application, under a prefix",
  OF_A_FRAMEWORK,
  inHono((host, deps) => {
    const governance = app(deps, { base: BASE });
    host.all(`${BASE}/*`, (c) => governance(c.req.raw));
  }),
);

httpContract(
  "a Hono application, each endpoint by itself",
  ["lifecycle", "endpoints"],
  inHono((host, deps) => {
    for (const endpoint of endpoints) {
      const handler = endpoint(deps);
      host.on(endpoint.method, BASE + endpoint.path, (c) => handler(c.req.raw));
    }
    // Only errors of unknown paths and methods come from the service; this detects endpoints that are not mounted.
    const governance = app(deps, { base: BASE });
    host.notFound(async (c) => {
      const response = await governance(c.req.raw);
      return [404, 405].includes(response.status) ? response : c.text("an endpoint is not mounted", 500);
    });
  }),
);
