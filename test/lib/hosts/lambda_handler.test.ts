import { describe, expect, test } from "vitest";
import type { Log } from "../../../lib/kit/platform.ts";
import { type LambdaHandlerOptions, lambdaHandler } from "../../../lib/hosts/lambda/handler.ts";
import { SettingInvalid } from "../../../lib/hosts/settings.ts";
import type { LambdaResult } from "../../../lib/hosts/lambda/handler.ts";
import { StoreBusy } from "../../../lib/store/store.ts";
import { context, type Event, makeEvent, type Source, SOURCES } from "./lambda_events.ts";

function recording(): Log & { lines: string[] } {
  const lines: string[] = [];
  const keep = (message: string, fields: object = {}) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  return { lines, info: keep, warn: keep, error: keep };
}

/** Returns the function's answer for a handler's answer. */
async function resultOf(response: () => Response | Promise<Response>, source: Source = "http_api", method = "GET") {
  const log = recording();
  const options: LambdaHandlerOptions = { log, open: async () => async () => response() };
  const event = await makeEvent(new Request("https://api.example/x", { method }), source);
  return { ...(await lambdaHandler(options)(event, context())), log };
}

/** Headers as a target group with lists reads them: every one a list, and no plain ones. */
const asLists = (headers: Record<string, string>) => ({
  multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
});

describe.each(SOURCES)("a result for %s", (source) => {
  test("contains status, headers and text", async () => {
    const answer = () => new Response('{"a":"ä"}', { status: 201, headers: { etag: '"1"', "Retry-After": "1" } });
    const { log: _, ...result } = await resultOf(answer, source);
    const headers = { "content-type": "text/plain;charset=UTF-8", etag: '"1"', "retry-after": "1" };
    expect(result).toEqual({
      statusCode: 201,
      ...(source === "alb_lists" ? asLists(headers) : { headers }),
      body: '{"a":"ä"}',
      isBase64Encoded: false,
    });
  });

  test("contains bytes that are not text in base64, for any content type", async () => {
    const bytes = Uint8Array.of(0x89, 0x50, 0, 0xff);
    const result = await resultOf(() => new Response(bytes, { headers: { "content-type": "text/plain" } }), source);
    expect(result).toMatchObject({ body: Buffer.from(bytes).toString("base64"), isBase64Encoded: true });
  });

  test("keeps a byte order mark", async () => {
    const result = await resultOf(() => new Response(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)), source);
    expect(result).toMatchObject({ body: "\uFEFFa", isBase64Encoded: false });
  });

  test("has no body where the response has none", async () => {
    expect(await resultOf(() => new Response(null, { status: 204 }), source)).toMatchObject({
      statusCode: 204,
      body: "",
    });
    const head = await resultOf(() => new Response(null, { status: 200 }), source, "HEAD");
    expect(head).toMatchObject({ statusCode: 200, body: "" });
  });

  test("sets every cookie", async () => {
    const headers = new Headers([
      ["set-cookie", "a=1; Expires=Thu, 01 Jan 2026 00:00:00 GMT"],
      ["set-cookie", "b=2"],
    ]);
    const result: LambdaResult = await resultOf(() => new Response(null, { headers }), source);
    const cookies = ["a=1; Expires=Thu, 01 Jan 2026 00:00:00 GMT", "b=2"];
    if (source === "alb") return expect(result.headers).toEqual({ "set-cookie": "b=2" });
    if (source === "rest_api" || source === "alb_lists")
      expect(result.multiValueHeaders).toEqual({ "set-cookie": cookies });
    else expect(result.cookies).toEqual(cookies);
    expect(result.headers ?? {}).not.toHaveProperty("set-cookie");
  });

  test("is 404 for an endless stream, which is cancelled", async () => {
    let cancelled = false;
    const body = new ReadableStream({ cancel: () => void (cancelled = true) });
    const stream = () => new Response(body, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
    const result = await resultOf(stream, source);
    expect(result.statusCode).toBe(404);
    expect(JSON.parse(result.body)).toMatchObject({ code: "not_found" });
    expect(cancelled).toBe(true);
  });
});

describe("where the service is mapped below a path, or in a named stage", () => {
  /** The status and the address that a function leads to. */
  async function led(event: Event, basePath?: string): Promise<[number, string | undefined]> {
    const handler = lambdaHandler({
      basePath,
      log: recording(),
      open: async () => async () => new Response("the page"),
    });
    const { statusCode, headers, multiValueHeaders } = await handler(event, context());
    return [statusCode, headers?.["location"] ?? multiValueHeaders?.["location"]?.[0]];
  }
  const http = async (path: string, over: Event = {}) => {
    const event = await makeEvent(new Request(`https://api.example${path}`));
    Object.assign(event["requestContext"], over);
    return event;
  };

  test.each(SOURCES)(
    "over %s the base without a slash redirects to the page, whose links are relative",
    async (source) => {
      const asked = (path: string, method = "GET") =>
        makeEvent(new Request(`https://api.example${path}`, { method }), source);
      expect(await led(await asked("/governance"), "/governance")).toEqual([
        308,
        source === "rest_api" ? "/prod/governance/" : "/governance/",
      ]);
      expect(await led(await asked("/governance", "HEAD"), "/governance")).toMatchObject([308, expect.any(String)]);
      for (const path of ["/governance/", "/governances", "/governance/app.js", "/"])
        expect(await led(await asked(path), "/governance")).toEqual([200, undefined]);
      expect(await led(await asked("/governance", "POST"), "/governance")).toEqual([200, undefined]);
    },
  );

  test("so does the named stage on the gateway's own domain", async () => {
    expect(await led(await http("/prod", { stage: "prod" }))).toEqual([308, "/prod/"]);
    expect(await led(await http("/prod/", { stage: "prod" }))).toEqual([200, undefined]);
    expect(await led(await http("/prod/governance", { stage: "prod" }), "/governance")).toEqual([
      308,
      "/prod/governance/",
    ]);
  });

  test.each([
    ["/prod", [308, "/prod/"]],
    ["/prod/", [200, undefined]],
  ])("a REST API, which has removed the stage, shows in its context that %s was requested", async (path, answer) => {
    const rest = await makeEvent(new Request("https://api.example/"), "rest_api");
    rest["requestContext"].path = path;
    expect(await led(rest)).toEqual(answer);
  });

  test("the redirect keeps the query and its escapes", async () => {
    expect(await led(await http("/governance?a=%26&b="), "/governance")).toEqual([308, "/governance/?a=%26&b="]);
    const event = await http("/");
    event["rawPath"] = "/prüfung";
    expect(await led(event, "/prüfung")).toEqual([308, "/pr%C3%BCfung/"]);
  });

  test("without a mapping or a named stage nothing is redirected", async () => {
    expect(await led(await http("/"))).toEqual([200, undefined]);
    expect(await led(await http("//evil.example"))).toEqual([200, undefined]);
  });
});

test("a response above Lambda's limit is 413, measured as Lambda does", async () => {
  const plain = await resultOf(() => new Response("a".repeat(5_500_000)));
  const quotes = await resultOf(() => new Response('"'.repeat(5_500_000)));
  expect(plain.statusCode).toBe(200);
  expect(quotes.statusCode).toBe(413);
  expect(JSON.parse(quotes.body)).toMatchObject({ code: "payload_too_large" });
});

test.each(["alb", "alb_lists"] as const)(
  "a load balancer, %s, takes 1 MB, and its client gets an error",
  async (source) => {
    const [fits, over] = await Promise.all(
      [950_000, 990_000].map((length) => resultOf(() => new Response("a".repeat(length)), source)),
    );
    expect(fits!.statusCode).toBe(200);
    expect(over!.statusCode).toBe(413);
    expect(JSON.parse(over!.body)).toMatchObject({ code: "payload_too_large", error: expect.stringContaining("1 MB") });
  },
);

test("an exception is 500 without its reason, which is logged under Lambda's request id", async () => {
  const failing = () => Promise.reject(new Error("at /var/task secret"));
  const { statusCode, body, headers, log } = await resultOf(failing);
  expect(statusCode).toBe(500);
  expect(body).not.toContain("secret");
  expect(JSON.parse(body)).toMatchObject({ code: "internal", request_id: headers!["x-request-id"] });
  expect(log.lines).toEqual([expect.stringMatching(`${headers!["x-request-id"]}.*secret`)]);
});

test("a failed HEAD has no body", async () => {
  expect(await resultOf(() => Promise.reject(new Error("x")), "http_api", "HEAD")).toMatchObject({
    statusCode: 500,
    body: "",
  });
});

test("a service that could not be opened is opened again by the next request", async () => {
  let asked = 0;
  const open: LambdaHandlerOptions["open"] = async () => {
    if (asked++ === 0) throw new StoreBusy("table");
    return async () => new Response("ok");
  };
  const handler = lambdaHandler({ open, log: recording() });
  const event = await makeEvent(new Request("https://api.example/x"));
  const first = await handler(event, context());
  expect(first).toMatchObject({ statusCode: 503, headers: { "retry-after": "1" } });
  expect(JSON.parse(first.body)).toMatchObject({ code: "store_busy", request_id: first.headers!["x-request-id"] });
  expect(await handler(event, context())).toMatchObject({ statusCode: 200, body: "ok" });
});

test("a service that cannot be opened is 503 cannot_start; only messages for users are shown", async () => {
  const event = await makeEvent(new Request("https://api.example/x"));
  const answer = async (cause: Error) => {
    const log = recording();
    const result = await lambdaHandler({ open: () => Promise.reject(cause), log })(event, context());
    expect(result).toMatchObject({ statusCode: 503, headers: { "retry-after": expect.stringMatching(/^\d+$/) } });
    expect(log.lines).toEqual([expect.stringContaining(cause.message)]);
    return JSON.parse(result.body);
  };
  expect(await answer(new SettingInvalid("SVC_PROTECT_ALL must be 1 or 0"))).toMatchObject({
    code: "cannot_start",
    status: 503,
    error: "the service cannot start: SVC_PROTECT_ALL must be 1 or 0",
  });
  const { code, error } = await answer(new Error("at /var/task secret"));
  expect({ code, error }).toEqual({
    code: "cannot_start",
    error: "the service cannot start: the service's log has the cause",
  });
});

test("a malformed event is answered with 400 as JSON, also without a context", async () => {
  const handler = lambdaHandler({ open: () => Promise.reject(new Error("not opened")), log: recording() });
  for (const event of [null, undefined, {}, { version: "2.0", requestContext: { http: {} } }]) {
    const result = await handler(event, undefined as never);
    expect(result).toMatchObject({ statusCode: 400, headers: { "content-type": "application/json" } });
    expect(JSON.parse(result.body)).toMatchObject({ code: "invalid_field", status: 400 });
  }
});

test("a load balancer is answered in its own form also when the service cannot be opened", async () => {
  const open = () => Promise.reject(new SettingInvalid("SVC_PROTECT_ALL must be 1 or 0"));
  const event = await makeEvent(new Request("https://api.example/livez"), "alb_lists");
  const result = await lambdaHandler({ open, log: recording() })(event, context());
  expect(result).toMatchObject({ statusCode: 503, multiValueHeaders: { "content-type": ["application/json"] } });
  expect(result).not.toHaveProperty("headers");
});

test.each([
  ["a queue", { Records: [{ eventSource: "aws:sqs" }] }],
  ["a schedule", { source: "aws.events", "detail-type": "Scheduled Event" }],
])("an event of %s is not reported as processed", async (_, event) => {
  const handler = lambdaHandler({ open: async () => async () => new Response("ok"), log: recording() });
  await expect(handler(event, context())).rejects.toThrow("this function answers HTTP requests");
});

test("the request id of a response is Lambda's, unless the client sent one", async () => {
  const open: LambdaHandlerOptions["open"] = async () => async (request) =>
    new Response(request.headers.get("x-request-id"));
  const handler = lambdaHandler({ open, log: recording() });
  const ours = context();
  expect((await handler(await makeEvent(new Request("https://api.example/x")), ours)).body).toBe(ours.awsRequestId);
  const named = new Request("https://api.example/x", { headers: { "x-request-id": "theirs" } });
  expect((await handler(await makeEvent(named), ours)).body).toBe("theirs");
});
