/** The handlers pass the HTTP contract in an Express application. */
import type * as express from "express";
import { app, endpoints } from "../../handlers/index.ts";
import { BASE, inExpress, onNode } from "../support/host_apps.ts";
import { httpContract, OF_A_FRAMEWORK } from "./http_contract.ts";

httpContract(
  "an Express application, under a prefix",
  OF_A_FRAMEWORK,
  inExpress((host, deps) => {
    const governance = onNode(app(deps, { base: BASE }));
    host.use(BASE, (req, res) => {
      req.url = req.originalUrl; // Express has removed the prefix from `url`
      governance(req, res);
    });
  }),
);

httpContract(
  "an Express application, each endpoint by itself",
  ["lifecycle", "endpoints"],
  inExpress((host, deps) => {
    for (const endpoint of endpoints)
      host[endpoint.method === "GET" ? "get" : "post"](BASE + endpoint.path, onNode(endpoint(deps)));
    // Only errors of unknown paths and methods come from the service; this detects endpoints that are not mounted.
    const governance = app(deps, { base: BASE });
    const respondToUnmounted = onNode(async (request) => {
      const response = await governance(request);
      return [404, 405].includes(response.status) ? response : new Response("an endpoint is not mounted");
    });
    host.use(respondToUnmounted);
    // Express rejects a path that cannot be decoded before the handlers get it.
    host.use((_error: Error, req: express.Request, res: express.Response, _next: express.NextFunction) =>
      respondToUnmounted(req, res),
    );
  }),
);
