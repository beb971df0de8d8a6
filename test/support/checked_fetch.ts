/** Holds every answer that passes to what all answers have in common, so that no single test need say it. */
import { expect } from "vitest";
import { endpoints } from "../../handlers/index.ts";
import type { ErrorCode } from "../../lib/kit/errors.ts";
import { httpStatus } from "../../lib/kit/errors.ts";
import { type Declaration, outputSchema } from "../../lib/http/endpoint.ts";
import type { Fetch } from "./client.ts";

/** Error codes that any endpoint may answer in addition to those it declares. */
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

/** A fetch whose answers are all checked; `secrets` must never show, `base` is the path that the service is mounted under. */
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
    else if (headers.get("content-type") === "text/x.tlog.size")
      expect([status, text]).toEqual([409, expect.stringMatching(/^\d+\n$/)]);
    else if (status >= 400 && endpoint?.errorFormat) checkRefusal(text, status, endpoint);
    else if (endpoint?.also?.includes(status) && /^\{"(?:jsonrpc|state)"/.test(text))
      checkSuccess(text, status, endpoint);
    else if (status >= 400 && !isReadiness(endpoint)) checkError(text, status, headers, endpoint);
    else if (headers.get("content-type") === "application/json") checkSuccess(text, status, endpoint!);
    return response;
  };
}

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

/** A protocol of others says what an error looks like, and that some have no body. */
function checkRefusal(text: string, status: number, { path, errorFormat: refusals }: Declaration): void {
  const body = refusals!.bodies[status];
  expect(body, `${status} of ${path} is declared`).toBeDefined();
  expect(text).not.toMatch(LEAK);
  if (body) expect(body.parse(JSON.parse(text))).toEqual(JSON.parse(text));
  else expect(text).toBe("");
}

/** A success parses as the declared output, and no field is lost on the way. */
function checkSuccess(text: string, status: number, endpoint: Declaration): void {
  if (!isReadiness(endpoint)) expect([endpoint.success ?? 200, ...(endpoint.also ?? [])]).toContain(status);
  const body = JSON.parse(text);
  expect(keptOutput(endpoint).parse(body), `the declared output of ${endpoint.path}`).toEqual(body);
}

const kept = new WeakMap<Declaration, ReturnType<typeof outputSchema>>();

/** Makes the schema of an endpoint's answer once for all tests of a worker. */
function keptOutput(endpoint: Declaration): ReturnType<typeof outputSchema> {
  const schema = kept.get(endpoint) ?? outputSchema(endpoint);
  kept.set(endpoint, schema);
  return schema;
}

/** The declaration that a request meets. */
export function findEndpoint(method: string, pathname: string): Declaration | undefined {
  const wanted = method === "HEAD" ? "GET" : method;
  return PATTERNS.find(({ endpoint, pattern }) => endpoint.method === wanted && pattern.test(pathname))?.endpoint;
}

/** Each endpoint with the paths that lead to it. */
const PATTERNS = endpoints.map((endpoint) => {
  const { path, rest } = endpoint;
  const pattern = new RegExp(`^${path.replaceAll(".", "\\.").replace(/:[a-z_]+/g, rest ? ".+" : "[^/]+")}/*$`);
  return { endpoint: endpoint as Declaration, pattern };
});
