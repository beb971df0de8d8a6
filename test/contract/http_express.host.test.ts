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
      req.url = req.originalUrl; // Express has taken the prefix off
      governance(req, res);
    });
  }),
);

httpContract(
  "an Express application, each endpoint by itself",
  ["life", "endpoints"],
  inExpress((host, deps) => {
    for (const endpoint of endpoints)
      host[endpoint.method === "GET" ? "get" : "post"](BASE + endpoint.path, onNode(endpoint(deps)));
    // Other paths and methods are the host's to answer; this one leaves them to the service, and nothing else.
    const governance = app(deps, { base: BASE });
    const refuse = onNode(async (request) => {
      const response = await governance(request);
      return [404, 405].includes(response.status) ? response : new Response("an endpoint is not mounted");
    });
    host.use(refuse);
    // Express itself refuses a path that cannot be decoded.
    host.use((_error: Error, req: express.Request, res: express.Response, _next: express.NextFunction) =>
      refuse(req, res),
    );
  }),
);
