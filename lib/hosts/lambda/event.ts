/** HTTP events of Lambda as a `Request`: API Gateway's HTTP API and REST API, Function URLs, Application Load Balancers. */
import * as z from "zod";
import { AppError, invalidField } from "../../kit/errors.ts";
import { once } from "../../kit/once.ts";

/**
 * The payload format, and so the shape of the answer: 1.0 (REST API), 2.0 (HTTP API, Function URL), or that of a load balancer,
 * whose target group sends and expects each header as one value (`alb`) or as a list (`alb_lists`).
 */
export type Payload = "1.0" | "2.0" | "alb" | "alb_lists";

const text = () => z.string().nullish();
const values = () => z.record(z.string(), text()).nullish();
const lists = () => z.record(z.string(), z.array(z.string()).nullish()).nullish();

// A member of several formats has the same name and type in all of them.
const eventSchema = once(() =>
  z.object({
    headers: values(),
    multiValueHeaders: lists(),
    cookies: z.array(z.string()).nullish(),
    body: text(),
    isBase64Encoded: z.boolean().nullish(),
    rawPath: text(),
    rawQueryString: text(),
    httpMethod: text(),
    path: text(),
    queryStringParameters: values(),
    multiValueQueryStringParameters: lists(),
    requestContext: z.object({
      apiId: text(),
      domainName: text(),
      stage: text(),
      path: text(),
      http: z.object({ method: z.string() }).nullish(),
    }),
  }),
);
type Event = z.infer<ReturnType<typeof eventSchema>>;

/** Characters of a host and port; anything else would mean another address to a URL parser. */
const HOST = /^[A-Za-z0-9._:[\]-]+$/;

export interface ReadOptions {
  /** Prefix of every path, such as `/governance`; the request is read without it. */
  basePath?: string | undefined;
}

export interface ParsedEvent {
  payload: Payload;
  request: Request;
  /** The address with a final slash, if the base path or the stage was requested without it. */
  locationWithSlash?: string;
}

/** Reads an event as a request. Errors: 400 `invalid_field` for a malformed event, or one of another kind. */
export function readEvent(event: unknown, { basePath = "" }: ReadOptions = {}): ParsedEvent {
  const payload = detectPayload(event);
  const { data, error } = eventSchema().safeParse(event);
  if (error) throw invalidField("event", `is malformed at ${error.issues[0]!.path.join(".")}`);
  try {
    return { payload, ...createRequest(data, payload, basePath) };
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw invalidField("request", "is malformed: its method, headers or address cannot be read");
  }
}

function detectPayload(event: unknown): Payload {
  const { version, httpMethod, multiValueHeaders, requestContext } = (event ?? {}) as Record<string, unknown>;
  const context = (requestContext ?? {}) as Record<string, unknown>;
  if (version === "2.0" && context["http"]) return "2.0";
  if (typeof httpMethod === "string" && !context["elb"]) return "1.0";
  if (typeof httpMethod === "string") return multiValueHeaders ? "alb_lists" : "alb";
  throw invalidField(
    "event",
    "is none of API Gateway (HTTP API, REST API), of a Function URL or of an Application Load Balancer",
  );
}

function createRequest(event: Event, payload: Payload, basePath: string): Omit<ParsedEvent, "payload"> {
  const { requestContext: context, body, isBase64Encoded } = event;
  const method = payload === "2.0" ? context.http!.method : event.httpMethod!;
  const headers = readHeaders(event);
  const host = [headers.get("host"), context.domainName].find(
    (name) => name && HOST.test(name) && URL.canParse(`https://${name}`),
  );
  const url = new URL(`https://${host ?? "localhost"}`);
  const pathname = escapePath(removePrefix(basePath, readPath(event, payload)));
  url.pathname = pathname;
  // A URL parser removes `..`, but the gateway in front has authorized the path as it was sent.
  if (url.pathname !== pathname) throw invalidField("path", "must not contain . or .. segments or a backslash");
  url.search = payload === "2.0" ? (event.rawQueryString ?? "") : buildQuery(event, payload);
  const hasNoBody = !body || method === "GET" || method === "HEAD";
  const clientPath = readClientPath(event, payload);
  const lacksSlash = pathname === "/" && !clientPath.endsWith("/");
  return {
    request: new Request(url, {
      method,
      headers,
      ...(!hasNoBody && { body: isBase64Encoded ? decodeBody(body) : body }),
    }),
    ...(lacksSlash && { locationWithSlash: `${escapePath(clientPath)}/${url.search}` }),
  };
}

/**
 * Returns the path below the stage. An HTTP API sends the path with the stage; a REST API sends `path` without it, unless it is
 * equal to the path in the context.
 */
function readPath({ rawPath, path, requestContext: context }: Event, payload: Payload): string {
  const [field, value] = payload === "2.0" ? ["rawPath", rawPath] : ["path", path];
  if (typeof value !== "string") throw invalidField("event", `is malformed at ${field}`);
  return payload === "2.0" || context.path === value ? removeStage(value, context) : value;
}

/** Returns the path as the client wrote it, with the stage; a REST API has it in the context. */
const readClientPath = ({ rawPath, path, requestContext: context }: Event, payload: Payload): string =>
  (payload === "2.0" ? rawPath : (context.path ?? path)) || "/";

/** Builds the query. A REST API sends names and values decoded, a load balancer as they were received. */
function buildQuery({ queryStringParameters, multiValueQueryStringParameters }: Event, payload: Payload): string {
  const pairs = Object.entries(mergeValues(queryStringParameters, multiValueQueryStringParameters)).flatMap(
    ([name, list]) => list.map((value) => [name, value]),
  );
  return payload === "1.0" ? String(new URLSearchParams(pairs)) : pairs.map((pair) => pair.join("=")).join("&");
}

/**
 * Removes a named stage, which precedes the path on the gateway's own domain, and under some mappings also on another domain. On
 * another domain a stage called `api` stays, since the paths themselves begin with `/api/`.
 */
function removeStage(path: string, { stage, apiId, domainName }: Event["requestContext"]): string {
  if (!stage || stage === "$default") return path;
  if (domainName?.startsWith(`${apiId}.execute-api.`)) return removePrefix(`/${stage}`, path);
  return stage !== "api" && path.startsWith(`/${stage}/`) ? path.slice(stage.length + 1) : path;
}

/** Merges single values and lists by name; a list in `multiple` wins, since it has all values of its name. */
function mergeValues(single: Event["headers"], multiple: Event["multiValueHeaders"]): Record<string, string[]> {
  const all: Record<string, string[]> = Object.create(null);
  for (const [name, value] of Object.entries(single ?? {})) all[name] = [value ?? ""];
  for (const [name, list] of Object.entries(multiple ?? {})) if (list) all[name] = list;
  return all;
}

function readHeaders({ headers: single, multiValueHeaders, cookies }: Event): Headers {
  const headers = new Headers();
  try {
    for (const [name, list] of Object.entries(mergeValues(single, multiValueHeaders)))
      for (const value of list) headers.append(name, encodeHeaderValue(value));
  } catch {
    throw invalidField("headers", "hold a name or value that is not allowed");
  }
  if (cookies && cookies.length > 0) headers.set("cookie", cookies.join("; "));
  return headers;
}

/** Encodes text as UTF-8 with one character for each byte, as `Headers` requires. */
const encodeHeaderValue = (text: string): string =>
  /^[\0-\x7f]*$/.test(text) ? text : String.fromCharCode(...new TextEncoder().encode(text));

const removePrefix = (prefix: string, path: string): string =>
  prefix !== "" && (path === prefix || path.startsWith(`${prefix}/`)) ? path.slice(prefix.length) || "/" : path;

/** Escapes characters that no path may contain. An HTTP API sends the path decoded, the others as it was received. */
const escapePath = (path: string): string =>
  path === "" ? "/" : path.replace(/[^A-Za-z0-9._~!$&'()*+,;=:@%/-]/gu, encodeURIComponent);

function decodeBody(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    throw invalidField("body", "is not the base64 that the event says it is");
  }
}
