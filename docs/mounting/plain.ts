// plain.ts
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { change } from "countersign/handlers/product/change";
import { governance, findPerson, service, settings } from "./governance.js";
import { onNode } from "./on_node.js";

const oneChange = change(service.deps); // one endpoint by itself

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (!findPerson(request.headers.get("authorization"))) return new Response("log in first", { status: 401 });
  if (pathname === "/settings") return Response.json(Object.fromEntries(settings));
  if (pathname.startsWith("/governance/")) return governance(request); // all of it
  if (pathname.startsWith("/crm/history/")) return oneChange(request);
  return new Response("there is nothing here", { status: 404 });
}

const server = createServer(onNode(answer)).listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
server.on("listening", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
