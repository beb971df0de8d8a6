import type { GovernanceDeps } from "../governance/deps.ts";
import { version } from "../kit/version.ts";
import { componentsFor } from "./components.ts";
import { type Circumstances, type Operation, operationOf, TAG_TEXTS, templateOf } from "./operation.ts";
import type { Documented } from "./responses.ts";

/** A whole document. */
export type OpenApi = ReturnType<typeof openApiOf>;

/** The OpenAPI document of endpoints, from the declarations that route and validate. Under an intent its KPIs are named. */
export function openApiOf(endpoints: readonly Documented[], apiVersion: string, circumstances: Circumstances = {}) {
  const paths: Record<string, Partial<Record<"get" | "post", Operation>>> = {};
  const used = new Set<string>();
  for (const endpoint of endpoints) {
    const operation = operationOf(endpoint, circumstances);
    const method = endpoint.method === "GET" ? "get" : "post";
    paths[templateOf(endpoint.path)] = { ...paths[templateOf(endpoint.path)], [method]: operation };
    for (const tag of operation.tags) used.add(tag);
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Countersign",
      version: apiVersion,
      description: "Governed product changes: propose, consent, apply, verify, roll back, on a hash-chained audit log.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: Object.entries(TAG_TEXTS)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: componentsFor(paths),
  };
}

/** The document of a running service: made when it is first asked for, since the list may hold who asks, and kept. */
export function documentOf(endpoints: () => readonly Documented[]): (deps: GovernanceDeps) => OpenApi {
  const made = new WeakMap<GovernanceDeps, OpenApi>();
  return (deps) => {
    const document = made.get(deps) ?? openApiOf(endpoints(), version, deps);
    made.set(deps, document);
    return document;
  };
}

/** The document as a request found it: what stands before the path of its own endpoint stands before all of them. */
export function servedTo({ url }: Request, ownPath: string, document: OpenApi): OpenApi {
  const { pathname } = new URL(url);
  const base = pathname.slice(0, Math.max(0, pathname.lastIndexOf(ownPath)));
  return base === "" ? document : { ...document, servers: [{ url: base }] };
}
