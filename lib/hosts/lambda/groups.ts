/** Assigns endpoints to functions, so that each function has only the rights that it needs. */
import { isWrite } from "../../http/admission.ts";
import type { Declaration } from "../../http/endpoint.ts";

type Routed = Pick<Declaration, "method" | "path" | "product" | "reads">;

/** `docs` needs no store, `read` reads it, `health` also proves that writes work; `product` and `agent` write to it. */
export const GROUPS = ["docs", "health", "read", "product", "agent"] as const;
export type Group = (typeof GROUPS)[number];

/** Access of a function to the store. */
export type Access = "none" | "read" | "write";

const GROUP_BY_PATH: Readonly<Record<string, Group>> = {
  "/openapi.json": "docs",
  "/docs": "docs",
  "/livez": "health",
  "/readyz": "health",
  // Each of these stores nodes of the log's Merkle tree.
  "/api/product/audit/checkpoint": "product",
  "/api/product/audit/proof": "product",
  "/api/product/changes/:change_id/certificate": "product",
  "/api/product/changes/:change_id/attestation": "product",
  "/api/product/pack": "product",
  // The gate decides in a transaction, and its POST records the answer.
  "/api/gate": "product",
  "/api/gate/github": "product",
  // Some of its tools write and others wait long, so they must not use up the concurrency of `product`.
  "/mcp": "agent",
};

/** The group of an endpoint. */
export function functionGroup({ path, product, ...declaration }: Routed): Group {
  const listed = GROUP_BY_PATH[path];
  if (listed) return listed;
  if (!isWrite(declaration)) return "read";
  return product ? "product" : "agent";
}

/** Returns the access with which the store is opened for an endpoint. `/readyz` may write its proof with `read` (function.ts). */
export function tableAccess(endpoint: Routed): Access {
  const group = functionGroup(endpoint);
  if (group === "docs" || endpoint.path === "/livez") return "none";
  return group === "product" || group === "agent" ? "write" : "read";
}
