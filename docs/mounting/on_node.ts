// on_node.ts
import type { RequestListener } from "node:http";
import { toNodeHandler } from "srvx/node";

/** A handler as `node:http` calls it, and what is built on that. */
export const onNode = (handler: (request: Request) => Response | Promise<Response>) =>
  toNodeHandler(handler) as RequestListener;
