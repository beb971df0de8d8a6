/** Builds the OpenAPI document, and caches its views. */
import { version } from "../kit/version.ts";
import { collectComponents } from "./components.ts";
import { type DocumentConfig, type Operation, describeOperation, TAG_DESCRIPTIONS, pathTemplate } from "./operation.ts";
import type { JsonSchema } from "./json_schema.ts";
import { makeSample } from "./sample.ts";
import type { DocumentedEndpoint } from "./responses.ts";

/** Describes the service, and the headers of every request and response. */
const DESCRIPTION =
  "Propose, consent, apply, verify and roll back product changes, on a hash-chained audit log. " +
  "Every response names its request in X-Request-Id; a request may bring its own. A 401 names the header that it needs in " +
  "WWW-Authenticate, and Retry-After says in how many seconds to try again.";

/** An OpenAPI document. */
export type OpenApi = ReturnType<typeof makeOpenApi>;

/** Builds the OpenAPI document from the declarations of endpoints. Under an intent it names the KPIs. */
export function makeOpenApi(endpoints: readonly DocumentedEndpoint[], apiVersion: string, config: DocumentConfig = {}) {
  const paths: Record<string, Partial<Record<"get" | "post", Operation>>> = {};
  const usedTags = new Set<string>();
  for (const endpoint of endpoints) {
    const operation = describeOperation(endpoint, config);
    const method = endpoint.method === "GET" ? "get" : "post";
    paths[pathTemplate(endpoint.path)] = { ...paths[pathTemplate(endpoint.path)], [method]: operation };
    for (const tag of operation.tags) usedTags.add(tag);
  }
  const components = collectComponents(paths);
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods)))
    if (hasNoInput(operation)) addAnswerExample(operation, components.schemas);
  return {
    openapi: "3.1.0",
    info: {
      title: "Countersign",
      version: apiVersion,
      description: DESCRIPTION,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: Object.entries(TAG_DESCRIPTIONS)
      .filter(([name]) => usedTags.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components,
  };
}

const hasNoInput = ({ parameters = [], requestBody }: Operation): boolean =>
  !requestBody && parameters.every((parameter) => parameter.in === "header");

/** Adds an example of the success answer. */
function addAnswerExample({ responses }: Operation, schemas: Readonly<Record<string, JsonSchema>>): void {
  for (const media of Object.values((responses[200] ?? responses[201])!.content ?? {}))
    media.example = makeSample(media.schema, schemas);
}

/**
 * Returns a function that builds a view of the document and caches it. The endpoints are listed at its first call, since they may
 * include the endpoint that calls it.
 */
export function makeDocument<T>(
  endpoints: () => readonly DocumentedEndpoint[],
  make: (document: OpenApi) => T,
): (deps: DocumentConfig) => T {
  /** Documents by product, whose intent names the KPIs, or by `deps` without a product. */
  const cache = new WeakMap<object, { document: T }>();
  return (deps) => {
    // Everybody may read the document, so it names no KPI of the intent if reads are protected.
    const config = deps.protectReads ? { ...deps, product: undefined } : deps;
    const key = config.product ?? deps;
    const entry = cache.get(key) ?? { document: make(makeOpenApi(endpoints(), version, config)) };
    cache.set(key, entry);
    return entry.document;
  };
}

/** Returns the document with a server: the part of the request's address before `ownPath`, which precedes every path. */
export function addServer<T extends Pick<OpenApi, "servers">>({ url }: Request, ownPath: string, document: T): T {
  const { pathname } = new URL(url);
  const base = pathname.slice(0, Math.max(0, pathname.lastIndexOf(ownPath)));
  return base === "" ? document : { ...document, servers: [{ url: base }] };
}
