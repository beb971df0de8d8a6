import { version } from "../kit/version.ts";
import { collectComponents } from "./components.ts";
import { type Circumstances, type Operation, describeOperation, TAG_TEXTS, pathTemplate } from "./operation.ts";
import type { JsonSchema } from "./json_schema.ts";
import { makeSample } from "./sample.ts";
import type { DocumentedEndpoint } from "./responses.ts";

/** The sentences about the service, and the headers that any request may send and any response may have. */
const DESCRIPTION =
  "Propose, consent, apply, verify and roll back product changes, on a hash-chained audit log. " +
  "Every response names its request in X-Request-Id; a request may bring its own. A 401 names the header that it needs in " +
  "WWW-Authenticate, and Retry-After says in how many seconds to try again.";

/** A whole document. */
export type OpenApi = ReturnType<typeof makeOpenApi>;

/** The OpenAPI document of endpoints, from the declarations that route and validate. Under an intent its KPIs are named. */
export function makeOpenApi(
  endpoints: readonly DocumentedEndpoint[],
  apiVersion: string,
  circumstances: Circumstances = {},
) {
  const paths: Record<string, Partial<Record<"get" | "post", Operation>>> = {};
  const used = new Set<string>();
  for (const endpoint of endpoints) {
    const operation = describeOperation(endpoint, circumstances);
    const method = endpoint.method === "GET" ? "get" : "post";
    paths[pathTemplate(endpoint.path)] = { ...paths[pathTemplate(endpoint.path)], [method]: operation };
    for (const tag of operation.tags) used.add(tag);
  }
  const components = collectComponents(paths);
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods)))
    if (hasNoInput(operation)) showAnswer(operation, components.schemas);
  return {
    openapi: "3.1.0",
    info: {
      title: "Countersign",
      version: apiVersion,
      description: DESCRIPTION,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: Object.entries(TAG_TEXTS)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components,
  };
}

const hasNoInput = ({ parameters = [], requestBody }: Operation): boolean =>
  !requestBody && parameters.every((parameter) => parameter.in === "header");

/** Adds an example of the answer to operations without input. */
function showAnswer({ responses }: Operation, schemas: Readonly<Record<string, JsonSchema>>): void {
  for (const media of Object.values((responses[200] ?? responses[201])!.content ?? {}))
    media.example = makeSample(media.schema, schemas);
}

/**
 * Builds a view of the document of a running service on first request, since the list may include its caller, and caches it.
 */
export function makeDocument<T>(
  endpoints: () => readonly DocumentedEndpoint[],
  make: (document: OpenApi) => T,
): (deps: Circumstances) => T {
  /** By what the document depends on: another intent names other KPIs. */
  const made = new WeakMap<object, { document: T }>();
  return (deps) => {
    // Everybody may read the document, so where reads are protected it names no KPI of the intent.
    const circumstances = deps.protectReads ? { ...deps, product: undefined } : deps;
    const intent = circumstances.product ?? deps;
    const known = made.get(intent) ?? { document: make(makeOpenApi(endpoints(), version, circumstances)) };
    made.set(intent, known);
    return known.document;
  };
}

/** The document as a request found it: what stands before the path of its own endpoint stands before all of them. */
export function addServer<T extends Pick<OpenApi, "servers">>({ url }: Request, ownPath: string, document: T): T {
  const { pathname } = new URL(url);
  const base = pathname.slice(0, Math.max(0, pathname.lastIndexOf(ownPath)));
  return base === "" ? document : { ...document, servers: [{ url: base }] };
}
