/** Requests are read from the events of API Gateway, function URLs and load balancers. */
import { describe, expect, test } from "vitest";
import { readEvent } from "../../../lib/hosts/lambda/event.ts";
import { type Event, makeEvent, type Source, SOURCES } from "./lambda_events.ts";

const get = (path: string, headers: HeadersInit = {}) => new Request(`https://api.example${path}`, { headers });
const post = (body: BodyInit, headers: HeadersInit = {}) =>
  new Request("https://api.example/api/product/propose", { method: "POST", body, headers });

/** Converts a client's request to an event, edits the event, and returns the request that the function reads from it. */
async function convert(request: Request, source: Source, edit: (event: Event) => void = () => {}): Promise<Request> {
  const event = await makeEvent(request, source);
  edit(event);
  return readEvent(event).request;
}

/** Sets a header in `headers` and `multiValueHeaders`, whichever the event has. */
function setHeader(event: Event, name: string, value: string): void {
  if (event["headers"]) event["headers"][name] = value;
  if (event["multiValueHeaders"]) event["multiValueHeaders"][name] = [value];
}

describe.each(SOURCES)("an event of %s", (source) => {
  test("has method, URL, headers and body", async () => {
    const request = await convert(post("a=1&b=%20", { "content-type": "application/x-www-form-urlencoded" }), source);
    expect(request).toMatchObject({ method: "POST", url: "https://api.example/api/product/propose" });
    expect(request.headers.get("content-type")).toBe("application/x-www-form-urlencoded");
    expect(await request.text()).toBe("a=1&b=%20");
  });

  test("keeps every value of a repeated query parameter, and its escapes", async () => {
    const { searchParams } = new URL((await convert(get("/api/log?a=1&a=2&b=%26%20%2B&c="), source)).url);
    // A load balancer without multi-value headers passes only the last value of a parameter.
    expect([...searchParams]).toEqual([...(source === "alb" ? [] : [["a", "1"]]), ["a", "2"], ["b", "& +"], ["c", ""]]);
  });

  test("joins its cookies", async () => {
    const request = await convert(get("/api/log", { cookie: "a=1; b=2" }), source);
    expect(request.headers.get("cookie")).toBe("a=1; b=2");
  });

  test("decodes a base64 body to bytes", async () => {
    const bytes = Uint8Array.of(0xff, 0, 0xc3, 0x28);
    const request = await convert(post(bytes), source);
    expect(new Uint8Array(await request.arrayBuffer())).toEqual(bytes);
  });

  test("may lack headers, query and body", async () => {
    const request = await convert(get("/livez"), source, (event) => {
      for (const name of ["headers", "multiValueHeaders", "queryStringParameters", "rawQueryString", "cookies", "body"])
        event[name] = null;
      delete event["isBase64Encoded"];
    });
    expect(new URL(request.url).pathname).toBe("/livez");
    expect([...request.headers]).toEqual([]);
  });

  test("the body of a GET is dropped", async () => {
    const request = await convert(get("/livez"), source, (event) => (event["body"] = "x"));
    expect(request.body).toBeNull();
  });

  test("an invalid Host is not used for the URL", async () => {
    for (const host of ["evil.example/..", "user@evil.example", "a b", ""]) {
      const request = await convert(get("/livez"), source, (event) => setHeader(event, "host", host));
      const { domainName = "localhost" } = (await makeEvent(get("/"), source))["requestContext"];
      expect(new URL(request.url).host).toBe(domainName);
    }
  });

  test("an unusual path stays a path", async () => {
    for (const path of ["//evil.example/x", "/a b", "/a?b", "/a#b", "/%zz"]) {
      const request = await convert(get("/"), source, (event) => (event["path"] = event["rawPath"] = path));
      const url = new URL(request.url);
      expect(url.host).toBe("api.example");
      expect(url.search + url.hash).toBe("");
    }
  });

  test("a path that URL parsing would change is rejected or escaped", async () => {
    for (const path of [
      "/api/product/changes/../runtime",
      "/api/product/changes/%2e%2E/runtime",
      "/api/./log",
      "/livez/..",
      "api/log",
    ])
      await expect(
        convert(get("/"), source, (event) => (event["path"] = event["rawPath"] = path)),
      ).rejects.toMatchObject({
        status: 400,
      });
    for (const [path, expected] of [
      ["/api\\log", "/api%5Clog"],
      ["/api/\tlog", "/api/%09log"],
      ["/api/\n../log", "/api/%0A../log"],
      ["/api/evolved/a%2Fb", "/api/evolved/a%2Fb"],
      ["/api/evolved/ä", "/api/evolved/%C3%A4"],
    ]) {
      const request = await convert(get("/"), source, (event) => (event["path"] = event["rawPath"] = path));
      expect(new URL(request.url).pathname).toBe(expected);
    }
  });

  test.each([
    ["an invalid header name", (event: Event) => (event["headers"] = event["multiValueHeaders"] = { "a b": ["c"] })],
    ["an invalid header value", (event: Event) => setHeader(event, "a", "b\nc: d")],
    ["headers that are a list", (event: Event) => (event["headers"] = ["a"])],
    ["a body that is not base64", (event: Event) => Object.assign(event, { body: "%%%", isBase64Encoded: true })],
    ["a body that is an object", (event: Event) => (event["body"] = {})],
    ["no path", (event: Event) => (event["path"] = event["rawPath"] = undefined)],
    ["a path that is no text", (event: Event) => (event["path"] = event["rawPath"] = "/\ud800")],
    ["no context", (event: Event) => delete event["requestContext"]],
    [
      "an invalid method",
      (event: Event) => (event["httpMethod"] = (event["requestContext"].http ??= {}).method = "A B"),
    ],
  ])("with %s is rejected as malformed", async (_, edit) => {
    await expect(convert(post("a=1"), source, edit)).rejects.toMatchObject({ code: "invalid_field" });
  });
});

describe("the prefix of the path", () => {
  const requestPath = (event: Event, basePath?: string) => new URL(readEvent(event, { basePath }).request.url).pathname;
  const httpApiEvent = async (path: string, requestContext: Event = {}) => {
    const event = await makeEvent(get(path));
    Object.assign(event["requestContext"], requestContext);
    return event;
  };

  test("the name of a stage is removed on the gateway's own domain", async () => {
    expect(requestPath(await httpApiEvent("/prod/api/log", { stage: "prod" }))).toBe("/api/log");
    expect(requestPath(await httpApiEvent("/api/api/log", { stage: "api" }))).toBe("/api/log");
    expect(requestPath(await httpApiEvent("/prod", { stage: "prod" }))).toBe("/");
    expect(requestPath(await httpApiEvent("/production/api/log", { stage: "prod" }))).toBe("/production/api/log");
  });

  test("on a custom domain the mapping is removed from the path; a stage named like a path stays", async () => {
    const domainName = "countersign.example";
    expect(requestPath(await httpApiEvent("/prod/api/log", { stage: "prod", domainName }))).toBe("/api/log");
    expect(requestPath(await httpApiEvent("/api/log", { stage: "prod", domainName }))).toBe("/api/log");
    expect(requestPath(await httpApiEvent("/api/log", { stage: "api", domainName }))).toBe("/api/log");
    expect(requestPath(await httpApiEvent("/docs", { stage: "docs", domainName }))).toBe("/docs");
  });

  test("a stage in the path of an HTTP API in payload format 1.0 is removed; a REST API sends none", async () => {
    const rest = await makeEvent(get("/api/log"), "rest_api");
    rest["requestContext"].stage = "api";
    rest["requestContext"].path = "/api/api/log";
    expect(requestPath(rest)).toBe("/api/log");
    Object.assign(rest, { version: "1.0", path: "/api/api/log" });
    expect(requestPath(rest)).toBe("/api/log");
  });

  test("a configured base path is removed", async () => {
    expect(requestPath(await httpApiEvent("/governance/api/log"), "/governance")).toBe("/api/log");
    expect(requestPath(await httpApiEvent("/governance/api/log"))).toBe("/governance/api/log");
    expect(requestPath(await httpApiEvent("/governances/x"), "/governance")).toBe("/governances/x");
  });
});

test("all values of a REST API's repeated header are read, so that a token sent twice is invalid", async () => {
  const request = await convert(get("/livez"), "rest_api", (event) => {
    event["headers"]["x-svc-admin-token"] = "right";
    event["multiValueHeaders"]["x-svc-admin-token"] = ["wrong", "right"];
  });
  expect(request.headers.get("x-svc-admin-token")).toBe("wrong, right");
});

test.each([null, undefined, "text", 1, [], {}, { version: "2.0" }, { requestContext: null }, { httpMethod: 1 }])(
  "%j is not an HTTP event",
  (event) => expect(() => readEvent(event)).toThrow(/^event is none of API Gateway/),
);

describe("a load balancer", () => {
  const TARGET = { elb: { targetGroupArn: "arn:aws:elasticloadbalancing:…" } };

  test("sends health checks without a Host", () => {
    const headers = { "user-agent": "ELB-HealthChecker/2.0" };
    const event = { requestContext: TARGET, httpMethod: "GET", path: "/livez", queryStringParameters: {}, body: "" };
    for (const headerFields of [{ headers }, { multiValueHeaders: { "user-agent": [headers["user-agent"]] } }]) {
      const { request } = readEvent({ ...event, ...headerFields, isBase64Encoded: false });
      expect(request).toMatchObject({ method: "GET", url: "https://localhost/livez", body: null });
      expect(Object.fromEntries(request.headers)).toEqual(headers);
    }
  });

  test.each(["alb", "alb_lists"] as const)("sends the query encoded, and %s events are decoded", async (source) => {
    const { searchParams } = new URL((await convert(get("/api/log?q=a%26b%3Dc%25&%C3%A4=%2B+%20&d=e=f"), source)).url);
    expect([...searchParams]).toEqual([
      ["q", "a&b=c%"],
      ["ä", "+  "],
      ["d", "e=f"],
    ]);
  });

  test("with multi-value headers passes each value of a header, so a repeated token is invalid", async () => {
    const request = await convert(get("/livez"), "alb_lists", (event) => {
      event["multiValueHeaders"]["x-svc-admin-token"] = ["wrong", "right"];
    });
    expect(request.headers.get("x-svc-admin-token")).toBe("wrong, right");
  });

  test("sends paths with the configured base path, which is removed", async () => {
    const event = await makeEvent(get("/governance/api/log"), "alb");
    expect(new URL(readEvent(event, { basePath: "/governance" }).request.url).pathname).toBe("/api/log");
  });
});
