/** Checks every response against the rules that all responses share, so that single tests need not repeat them. */
import { expect } from "vitest";
import { endpoints } from "../../handlers/index.ts";
import type { ErrorCode } from "../../lib/kit/errors.ts";
import { httpStatus } from "../../lib/kit/errors.ts";
import { type Declaration, outputSchema } from "../../lib/http/endpoint.ts";
import type { Fetch } from "./client.ts";

/** Error codes that any endpoint may return in addition to those that it declares. */
const COMMON: ErrorCode[] = [
  "invalid_field",
  "host_not_allowed",
  "cross_site",
  "unauthorized",
  "agent_may_not",
  "invalid_identity",
  "person_required",
  "not_found",
  "method_not_allowed",
  "payload_too_large",
  "unsupported_media_type",
  "internal",
  "product_runtime_disabled",
  "store_unavailable",
  "store_busy",
  "cannot_start",
  "interrupted",
  "evidence_mismatch",
  "chain_broken",
  "clock_behind",
  "intent_outdated",
];

/** Pattern of a stack trace or a path of this machine. */
const LEAK = /node_modules|\n\s+at |\bat \S+ \(|file:\/\/|\.ts:\d+|\/(?:home|root|usr|work|tmp|var|dev)\//;

/** Wraps a fetch and checks each response. `secrets` must not occur in any of them; the service is mounted under the path `base`. */
export function checkedFetch(fetch: Fetch, secrets: readonly string[] = [], base = ""): Fetch {
  return async (request) => {
    const { method, url } = request;
    const response = await fetch(request);
    const text = await response.clone().text();
    const { status, headers } = response;
    expect(headers.get("x-request-id"), "every answer names its request").toMatch(/^[A-Za-z0-9._-]{1,100}$/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
    for (const secret of secrets) expect(text + JSON.stringify([...headers]), "no secret").not.toContain(secret);

    const endpoint = findEndpoint(method, new URL(url).pathname.slice(base.length));
    if (method === "HEAD") expect(text, "HEAD has no body").toBe("");
    // A witness answers a conflict with the size of its log, by C2SP tlog-witness.
    else if (headers.get("content-type") === "text/x.tlog.size")
      expect([status, text]).toEqual([409, expect.stringMatching(/^\d+\n$/)]);
    else if (status >= 400 && endpoint?.errorFormat) checkProtocolError(text, status, endpoint);
    // JSON-RPC errors and decisions of a gate have the body of a success.
    else if (endpoint?.sameBodyStatuses?.includes(status) && /^\{"(?:jsonrpc|state)"/.test(text))
      checkSuccess(text, status, endpoint);
    else if (status >= 400 && !isReadiness(endpoint)) checkError(text, status, headers, endpoint);
    else if (headers.get("content-type") === "application/json") checkSuccess(text, status, endpoint!);
    return response;
  };
}

/** A service that is not ready answers 503 with the declared output instead of an error. */
const isReadiness = (endpoint: Declaration | undefined): boolean => endpoint?.path === "/readyz";

function checkError(text: string, status: number, headers: Headers, endpoint: Declaration | undefined): void {
  expect(headers.get("content-type")).toBe("application/json");
  const body = JSON.parse(text);
  expect(body).toMatchObject({
    error: expect.stringMatching(/\S/),
    code: expect.stringMatching(/^[a-z_]+$/),
    status,
    request_id: headers.get("x-request-id"),
  });
  expect(httpStatus(body.code), body.code).toBe(status);
  expect(text).not.toMatch(LEAK);
  if (endpoint) expect([...COMMON, ...(endpoint.errors ?? [])], "a code the endpoint declares").toContain(body.code);
}

/** Checks an error in the format of an external protocol, in which some errors have no body. */
function checkProtocolError(text: string, status: number, { path, errorFormat }: Declaration): void {
  const body = errorFormat!.bodies[status];
  expect(body, `${status} of ${path} is declared`).toBeDefined();
  expect(text).not.toMatch(LEAK);
  if (body) expect(body.parse(JSON.parse(text))).toEqual(JSON.parse(text));
  else expect(text).toBe("");
}

/** Requires that a success parses as the declared output without losing a field. */
function checkSuccess(text: string, status: number, endpoint: Declaration): void {
  if (!isReadiness(endpoint)) expect([endpoint.success ?? 200, ...(endpoint.sameBodyStatuses ?? [])]).toContain(status);
  const body = JSON.parse(text);
  expect(cachedOutputSchema(endpoint).parse(body), `the declared output of ${endpoint.path}`).toEqual(body);
}

const outputSchemas = new WeakMap<Declaration, ReturnType<typeof outputSchema>>();

/** Returns the schema of an endpoint's response, created once for all tests of a worker. */
function cachedOutputSchema(endpoint: Declaration): ReturnType<typeof outputSchema> {
  const schema = outputSchemas.get(endpoint) ?? outputSchema(endpoint);
  outputSchemas.set(endpoint, schema);
  return schema;
}

/** Returns the declaration of the endpoint that handles a request. */
export function findEndpoint(method: string, pathname: string): Declaration | undefined {
  const declaredMethod = method === "HEAD" ? "GET" : method;
  return PATTERNS.find(({ endpoint, pattern }) => endpoint.method === declaredMethod && pattern.test(pathname))
    ?.endpoint;
}

/** Each endpoint with the pattern of its paths; with `rest`, its parameter may contain slashes. */
const PATTERNS = endpoints.map((endpoint) => {
  const { path, rest } = endpoint;
  const pattern = new RegExp(`^${path.replaceAll(".", "\\.").replace(/:[a-z_]+/g, rest ? ".+" : "[^/]+")}/*$`);
  return { endpoint: endpoint as Declaration, pattern };
});
