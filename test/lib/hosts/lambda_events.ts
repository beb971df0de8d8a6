/** Converts requests to events and results to responses, as the services of AWS in front of a function do. */
import type { LambdaResult } from "../../../lib/hosts/lambda/handler.ts";

/** An event of Lambda: any JSON object. */
// oxlint-disable-next-line no-explicit-any -- tests also build malformed events
export type Event = Record<string, any>;

/** The service that sends the event. */
export type Source = "http_api" | "rest_api" | "function_url" | "alb" | "alb_lists";

/** All sources; `alb` is a load balancer without multi-value headers, `alb_lists` one with them. */
export const SOURCES: readonly Source[] = ["http_api", "rest_api", "function_url", "alb", "alb_lists"];

/** Converts a request to the event of a source. The body is in base64 if it is no text or `base64` is set. */
export async function makeEvent(request: Request, source: Source = "http_api", base64 = false): Promise<Event> {
  const bytes = Buffer.from(await request.clone().arrayBuffer());
  const encoded = base64 || !bytes.equals(Buffer.from(bytes.toString("utf8")));
  const body = bytes.length > 0 ? { body: bytes.toString(encoded ? "base64" : "utf8") } : {};
  const url = new URL(request.url);
  // A `Request` has one character for each byte of a header, an event has the decoded text.
  const headers = Object.fromEntries(
    [...request.headers].map(([name, value]) => [name, Buffer.from(value, "latin1").toString("utf8")]),
  );
  headers["host"] ??= url.host;
  if (bytes.length > 0) headers["content-length"] = String(bytes.length);
  const common = { ...body, isBase64Encoded: encoded };
  if (source === "alb" || source === "alb_lists")
    return balancerEvent(request.method, url, headers, { lists: source === "alb_lists", body: "", ...common });
  if (source === "rest_api") return restEvent(request.method, url, headers, common);
  return { ...payload2Event(request.method, url, headers, source), ...common };
}

/** Returns an event in payload format 2.0, of an HTTP API or a function URL. */
function payload2Event(
  method: string,
  url: URL,
  { cookie, ...headers }: Record<string, string>,
  source: Source,
): Event {
  const apiId = "a1b2c3d4e5";
  const domainName =
    source === "http_api"
      ? `${apiId}.execute-api.eu-central-1.amazonaws.com`
      : `${apiId}.lambda-url.eu-central-1.on.aws`;
  return {
    version: "2.0",
    routeKey: source === "http_api" ? `ANY ${url.pathname}` : "$default",
    rawPath: url.pathname,
    rawQueryString: url.search.slice(1),
    ...(cookie !== undefined && { cookies: cookie.split("; ") }),
    headers,
    requestContext: {
      accountId: "123456789012",
      apiId,
      domainName,
      domainPrefix: apiId,
      http: { method, path: url.pathname, protocol: "HTTP/1.1", sourceIp: "192.0.2.1", userAgent: "agent" },
      requestId: "JKJaXmPLvHcESHA=",
      routeKey: "$default",
      stage: "$default",
      time: "12/Mar/2026:19:03:58 +0000",
      timeEpoch: 1583348638390,
    },
  };
}

function restEvent(httpMethod: string, url: URL, headers: Record<string, string>, bodyFields: Event): Event {
  const query: Record<string, string[]> = {};
  for (const [name, value] of url.searchParams) (query[name] ??= []).push(value);
  const lastValues = Object.fromEntries(Object.entries(query).map(([name, list]) => [name, list.at(-1)]));
  const isEmpty = Object.keys(query).length === 0;
  return {
    resource: "/{proxy+}",
    path: url.pathname,
    httpMethod,
    headers,
    multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    queryStringParameters: isEmpty ? null : lastValues,
    multiValueQueryStringParameters: isEmpty ? null : query,
    pathParameters: { proxy: url.pathname.slice(1) },
    stageVariables: null,
    requestContext: {
      accountId: "123456789012",
      apiId: "a1b2c3d4e5",
      domainName: "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com",
      httpMethod,
      identity: { sourceIp: "192.0.2.1" },
      path: `/prod${url.pathname}`,
      resourcePath: "/{proxy+}",
      stage: "prod",
    },
    body: null,
    ...bodyFields,
  };
}

/** Returns the event of a load balancer, in which path and query are not decoded; `lists` adds multi-value headers. */
function balancerEvent(
  httpMethod: string,
  url: URL,
  headers: Record<string, string>,
  { lists, ...bodyFields }: Event,
): Event {
  const query: Record<string, string[]> = {};
  for (const pair of url.search.slice(1).split("&").filter(Boolean)) {
    const [name, ...value] = pair.split("=") as [string, ...string[]];
    (query[name] ??= []).push(value.join("="));
  }
  const sent = { ...headers, "x-forwarded-for": "192.0.2.1", "x-forwarded-port": "443", "x-forwarded-proto": "https" };
  return {
    requestContext: {
      elb: {
        targetGroupArn:
          "arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/countersign/6d0ecf831eec9f09",
      },
    },
    httpMethod,
    path: url.pathname,
    ...(lists
      ? {
          multiValueHeaders: Object.fromEntries(Object.entries(sent).map(([name, value]) => [name, [value]])),
          multiValueQueryStringParameters: query,
        }
      : {
          headers: sent,
          queryStringParameters: Object.fromEntries(Object.entries(query).map(([name, list]) => [name, list.at(-1)])),
        }),
    ...bodyFields,
  };
}

/** Converts a result of the function to the response that a client gets. */
export function toFetchResponse(result: LambdaResult): Response {
  const {
    statusCode,
    headers,
    cookies = [],
    multiValueHeaders = {},
    body,
    isBase64Encoded,
  } = JSON.parse(JSON.stringify(result)) as LambdaResult;
  const all = new Headers(headers);
  for (const [name, list] of Object.entries(multiValueHeaders)) for (const value of list) all.append(name, value);
  for (const cookie of cookies) all.append("set-cookie", cookie);
  const bytes = Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
  return new Response(bytes.length > 0 ? bytes : null, { status: statusCode, headers: all });
}

/** Context that Lambda passes with the event. */
export const context = () => ({
  awsRequestId: crypto.randomUUID(),
  functionName: "countersign",
  functionVersion: "$LATEST",
  invokedFunctionArn: "arn:aws:lambda:eu-central-1:123456789012:function:countersign",
  memoryLimitInMB: "256",
});
