// hono.ts
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { change } from "countersign/handlers/product/change";
import { Hono } from "hono";
import { governance, findPerson, service, settings } from "./governance.js";
import { onNode } from "./on_node.js";

const host = new Hono();
host.use(async (c, next) => {
  if (!findPerson(c.req.header("authorization"))) return c.text("log in first", 401);
  return next();
});
host.get("/settings", (c) => c.json(Object.fromEntries(settings)));

host.all("/governance/*", (c) => governance(c.req.raw)); // all of it
const oneChange = change(service.deps); // one endpoint by itself
host.get("/crm/history/:change_id", (c) => oneChange(c.req.raw));

const server = createServer(onNode(host.fetch)).listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
server.on("listening", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
