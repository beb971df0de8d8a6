/** HTTP events of Lambda as a `Request`: API Gateway's HTTP API and REST API, and Function URLs. */
import * as z from "zod";
import { AppError, invalidField } from "../../kit/errors.ts";
import { once } from "../../kit/once.ts";

/** The payload format, and so the shape of the answer: 1.0 (REST API) or 2.0 (HTTP API, Function URL). */
export type Payload = "1.0" | "2.0";

const values = () => z.record(z.string(), z.string().nullish()).nullish();
const lists = () => z.record(z.string(), z.array(z.string()).nullish()).nullish();
const shared = () => ({
  headers: values(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().nullish(),
});
const place = () =>
  z.object({
    apiId: z.string().nullish(),
    domainName: z.string().nullish(),
    stage: z.string().nullish(),
  });

// A function is called with events of one format only.
const payload2 = once(() =>
  z.object({
    ...shared(),
    rawPath: z.string(),
    rawQueryString: z.string().nullish(),
    cookies: z.array(z.string()).nullish(),
    requestContext: place().extend({ http: z.object({ method: z.string() }) }),
  }),
);
const payload1 = once(() =>
  z.object({
    ...shared(),
    httpMethod: z.string(),
    path: z.string(),
    multiValueHeaders: lists(),
    queryStringParameters: values(),
    multiValueQueryStringParameters: lists(),
    requestContext: place().extend({ path: z.string().nullish() }),
  }),
);
type Payload1 = z.infer<ReturnType<typeof payload1>>;
type Payload2 = z.infer<ReturnType<typeof payload2>>;

/** The parts of an event, whatever its payload format. */
interface Parts {
  method: string;
  path: string;
  query: string;
  headers: Headers;
  domain: string | null | undefined;
  body?: string | null | undefined;
  isBase64Encoded?: boolean | null | undefined;
}

/** Characters of a host and port; anything else would mean another address to a URL parser. */
const HOST = /^[A-Za-z0-9._:[\]-]+$/;

/** What may stand before the path of an endpoint: `basePath` where the API is mapped below one, `/governance`. */
export interface ReadOptions {
  basePath?: string | undefined;
}

/** The event as a request. Errors: 400 `invalid_field` for one that is malformed; `internal` for one of another kind. */
export function readEvent(event: unknown, { basePath = "" }: ReadOptions = {}): { payload: Payload; request: Request } {
  const payload = payloadOf(event);
  const parts = payload === "2.0" ? partsOf2(parsed(payload2(), event)) : partsOf1(parsed(payload1(), event));
  try {
    return { payload, request: requestOf(parts, basePath) };
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw invalidField("request", "is malformed: its method, headers or address cannot be read");
  }
}

function payloadOf(event: unknown): Payload {
  const { version, httpMethod, requestContext } = (event ?? {}) as Record<string, unknown>;
  const context = (requestContext ?? {}) as Record<string, unknown>;
  if (context["elb"])
    throw new AppError(
      "internal",
      "this function answers API Gateway and Function URLs; events of an Application Load Balancer are not supported",
    );
  if (version === "2.0" && context["http"]) return "2.0";
  if (typeof httpMethod === "string") return "1.0";
  throw invalidField("event", "is none of API Gateway (HTTP API, REST API) or of a Function URL");
}

function parsed<T extends z.ZodType>(schema: T, event: unknown): z.output<T> {
  const result = schema.safeParse(event);
  if (result.success) return result.data;
  throw invalidField("event", `is malformed at ${result.error.issues[0]!.path.join(".")}`);
}

function partsOf2({ requestContext, rawPath, rawQueryString, cookies, headers: given, ...rest }: Payload2): Parts {
  const { http, domainName } = requestContext;
  const headers = headersOf(given);
  if (cookies && cookies.length > 0) headers.set("cookie", cookies.join("; "));
  const path = withoutStage(rawPath, requestContext);
  return { ...rest, method: http.method, path, query: rawQueryString ?? "", headers, domain: domainName };
}

function partsOf1({ requestContext, httpMethod: method, path: given, headers, ...rest }: Payload1): Parts {
  const { multiValueHeaders, queryStringParameters, multiValueQueryStringParameters, ...body } = rest;
  const { domainName, path: whole } = requestContext;
  const query = new URLSearchParams();
  for (const [name, list] of Object.entries(merged(queryStringParameters, multiValueQueryStringParameters)))
    for (const value of list) query.append(name, value);
  // A REST API takes the stage from `path`; an HTTP API in payload format 1.0 leaves it there.
  const path = whole === given ? withoutStage(given, requestContext) : given;
  return {
    ...body,
    method,
    path,
    query: String(query),
    headers: headersOf(headers, multiValueHeaders),
    domain: domainName,
  };
}

/**
 * A named stage stands before the path: always on the gateway's own domain, and under some mappings of another domain,
 * where only a stage called `api` could be taken for the path itself.
 */
function withoutStage(path: string, { stage, apiId, domainName }: z.infer<ReturnType<typeof place>>): string {
  if (!stage || stage === "$default") return path;
  if (domainName?.startsWith(`${apiId}.execute-api.`)) return without(`/${stage}`, path);
  return stage !== "api" && path.startsWith(`/${stage}/`) ? path.slice(stage.length + 1) : path;
}

/** Every value of every name; a name that has several stands in `lists` with all of them. */
function merged(single: z.infer<typeof values>, multiple: z.infer<typeof lists>): Record<string, string[]> {
  const all: Record<string, string[]> = Object.create(null);
  for (const [name, value] of Object.entries(single ?? {})) all[name] = [value ?? ""];
  for (const [name, list] of Object.entries(multiple ?? {})) if (list) all[name] = list;
  return all;
}

function headersOf(single: z.infer<typeof values>, multiple?: z.infer<typeof lists>): Headers {
  const headers = new Headers();
  try {
    for (const [name, list] of Object.entries(merged(single, multiple)))
      for (const value of list) headers.append(name, value);
  } catch {
    throw invalidField("headers", "hold a name or value that is not allowed");
  }
  return headers;
}

function requestOf({ method, path, query, headers, domain, body, isBase64Encoded }: Parts, basePath: string): Request {
  const host = [headers.get("host"), domain].find((name) => name && HOST.test(name) && URL.canParse(`https://${name}`));
  const url = new URL(`https://${host ?? "localhost"}`);
  const pathname = escaped(without(basePath, path));
  url.pathname = pathname;
  // A URL takes `..` out. What stands in front has judged the path as it was, so no other is made of it.
  if (url.pathname !== pathname) throw new AppError("not_found", "the path is not well-formed");
  url.search = query;
  const empty = !body || method === "GET" || method === "HEAD";
  return new Request(url, { method, headers, ...(!empty && { body: isBase64Encoded ? bytesOf(body) : body }) });
}

const without = (prefix: string, path: string): string =>
  prefix !== "" && (path === prefix || path.startsWith(`${prefix}/`)) ? path.slice(prefix.length) || "/" : path;

/** An HTTP API gives the path decoded, the others as it was sent: only what cannot stand in a path is escaped. */
const escaped = (path: string): string =>
  path === "" ? "/" : path.replace(/[^A-Za-z0-9._~!$&'()*+,;=:@%/-]/gu, encodeURIComponent);

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    throw invalidField("body", "is not the base64 that the event says it is");
  }
}
