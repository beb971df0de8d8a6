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
  ["life", "endpoints"],
  inHono((host, deps) => {
    for (const endpoint of endpoints) {
      const handler = endpoint(deps);
      host.on(endpoint.method, BASE + endpoint.path, (c) => handler(c.req.raw));
    }
    // Other paths and methods are the host's to answer; this one leaves them to the service, and nothing else.
    const governance = app(deps, { base: BASE });
    host.notFound(async (c) => {
      const response = await governance(c.req.raw);
      return [404, 405].includes(response.status) ? response : c.text("an endpoint is not mounted", 500);
    });
  }),
);
