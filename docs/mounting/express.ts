// express.ts
import type { AddressInfo } from "node:net";
import { change } from "countersign/handlers/product/change";
import express from "express";
import { governance, findPerson, service, settings } from "./governance.js";
import { onNode } from "./on_node.js";

const host = express();
host.use((req, res, next) => {
  if (findPerson(req.headers.authorization)) next();
  else res.status(401).send("log in first");
});
host.get("/settings", (_req, res) => void res.json(Object.fromEntries(settings)));

const all = onNode(governance); // all of it
host.use("/governance", (req, res) => {
  req.url = req.originalUrl; // Express has taken the prefix off
  return all(req, res);
});
host.get("/crm/history/:change_id", onNode(change(service.deps))); // one endpoint by itself

const server = host.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
server.on("listening", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
