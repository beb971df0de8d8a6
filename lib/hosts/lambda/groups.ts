/** Which function answers which endpoint, so that each has the rights it needs and no others. */
import { isWrite } from "../../http/admission.ts";
import type { Declaration } from "../../http/endpoint.ts";

type Routed = Pick<Declaration, "method" | "path" | "product" | "reads">;

/** `docs` needs no store, `health` and `read` read it; `product` and `agent` write to it. */
export const GROUPS = ["docs", "health", "read", "product", "agent"] as const;
export type Group = (typeof GROUPS)[number];

/** Access of a function to the store. */
export type Access = "none" | "read" | "write";

const GROUP_BY_PATH: Readonly<Record<string, Group>> = {
  "/openapi.json": "docs",
  "/docs": "docs",
  "/livez": "health",
  "/readyz": "health",
  // These keep the tree of the log: asking for them writes.
  "/api/product/audit/checkpoint": "product",
  "/api/product/audit/proof": "product",
  "/api/product/changes/:change_id/certificate": "product",
  "/api/product/changes/:change_id/attestation": "product",
  "/api/product/pack": "product",
  // It is decided in a transaction, and POST records the answer.
  "/api/gate": "product",
  "/api/gate/github": "product",
  // Some of its tools write, and others wait long: they must not hold the places of those who govern.
  "/mcp": "agent",
};

/** The group of an endpoint. */
export function functionGroup({ path, product, ...terms }: Routed): Group {
  const named = GROUP_BY_PATH[path];
  if (named) return named;
  if (!isWrite(terms)) return "read";
  return product ? "product" : "agent";
}

/** Returns the access to the store that an endpoint needs. */
export function tableAccess(endpoint: Routed): Access {
  const group = functionGroup(endpoint);
  if (group === "docs" || endpoint.path === "/livez") return "none";
  return group === "product" || group === "agent" ? "write" : "read";
}
