/** The handler of a function: results from responses, redirects to the base path, limits, and errors. */
import { describe, expect, test } from "vitest";
import type { Log } from "../../../lib/kit/platform.ts";
import { type LambdaHandlerOptions, lambdaHandler } from "../../../lib/hosts/lambda/handler.ts";
import { SettingInvalid } from "../../../lib/hosts/settings.ts";
import type { LambdaResult } from "../../../lib/hosts/lambda/handler.ts";
import { StoreBusy } from "../../../lib/store/store.ts";
import { context, type Event, makeEvent, type Source, SOURCES } from "./lambda_events.ts";

function createRecordingLog(): Log & { lines: string[] } {
  const lines: string[] = [];
  const addLine = (message: string, fields: object = {}) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  return { lines, info: addLine, warn: addLine, error: addLine };
}

/** Returns the result of the function for a response of the service. */
async function resultOf(response: () => Response | Promise<Response>, source: Source = "http_api", method = "GET") {
  const log = createRecordingLog();
  const options: LambdaHandlerOptions = { log, open: async () => async () => response() };
  const event = await makeEvent(new Request("https://api.example/x", { method }), source);
  return { ...(await lambdaHandler(options)(event, context())), log };
}

/** Returns headers as a target group with multi-value headers requires them: lists, and no single values. */
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

  test("sets every cookie; a load balancer without multi-value headers gets the last one", async () => {
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
  /** Returns the status, and the address of a redirect. */
  async function invoke(event: Event, basePath?: string): Promise<[number, string | undefined]> {
    const handler = lambdaHandler({
      basePath,
      log: createRecordingLog(),
      open: async () => async () => new Response("the page"),
    });
    const { statusCode, headers, multiValueHeaders } = await handler(event, context());
    return [statusCode, headers?.["location"] ?? multiValueHeaders?.["location"]?.[0]];
  }
  const httpApiEvent = async (path: string, requestContext: Event = {}) => {
    const event = await makeEvent(new Request(`https://api.example${path}`));
    Object.assign(event["requestContext"], requestContext);
    return event;
  };

  test.each(SOURCES)(
    "over %s the base without a slash redirects to the page, whose links are relative",
    async (source) => {
      const eventFor = (path: string, method = "GET") =>
        makeEvent(new Request(`https://api.example${path}`, { method }), source);
      expect(await invoke(await eventFor("/governance"), "/governance")).toEqual([
        308,
        // `makeEvent` makes events of a REST API in the stage prod, whose name begins the path.
        source === "rest_api" ? "/prod/governance/" : "/governance/",
      ]);
      expect(await invoke(await eventFor("/governance", "HEAD"), "/governance")).toMatchObject([
        308,
        expect.any(String),
      ]);
      for (const path of ["/governance/", "/governances", "/governance/app.js", "/"])
        expect(await invoke(await eventFor(path), "/governance")).toEqual([200, undefined]);
      expect(await invoke(await eventFor("/governance", "POST"), "/governance")).toEqual([200, undefined]);
    },
  );

  test("the path of a named stage on the gateway's own domain redirects to the page", async () => {
    expect(await invoke(await httpApiEvent("/prod", { stage: "prod" }))).toEqual([308, "/prod/"]);
    expect(await invoke(await httpApiEvent("/prod/", { stage: "prod" }))).toEqual([200, undefined]);
    expect(await invoke(await httpApiEvent("/prod/governance", { stage: "prod" }), "/governance")).toEqual([
      308,
      "/prod/governance/",
    ]);
  });

  test.each([
    ["/prod", [308, "/prod/"]],
    ["/prod/", [200, undefined]],
  ])("for a REST API, which removes the stage, the redirect follows from %s in the context", async (path, answer) => {
    const rest = await makeEvent(new Request("https://api.example/"), "rest_api");
    rest["requestContext"].path = path;
    expect(await invoke(rest)).toEqual(answer);
  });

  test("the redirect keeps the query and its escapes", async () => {
    expect(await invoke(await httpApiEvent("/governance?a=%26&b="), "/governance")).toEqual([
      308,
      "/governance/?a=%26&b=",
    ]);
    const event = await httpApiEvent("/");
    event["rawPath"] = "/prüfung";
    expect(await invoke(event, "/prüfung")).toEqual([308, "/pr%C3%BCfung/"]);
  });

  test("without a mapping or a named stage nothing is redirected", async () => {
    expect(await invoke(await httpApiEvent("/"))).toEqual([200, undefined]);
    expect(await invoke(await httpApiEvent("//evil.example"))).toEqual([200, undefined]);
  });
});

test("a response above Lambda's limit, measured as escaped JSON, is 413", async () => {
  // 6 MiB; each quote takes two bytes.
  const plain = await resultOf(() => new Response("a".repeat(5_500_000)));
  const quotes = await resultOf(() => new Response('"'.repeat(5_500_000)));
  expect(plain.statusCode).toBe(200);
  expect(quotes.statusCode).toBe(413);
  expect(JSON.parse(quotes.body)).toMatchObject({ code: "payload_too_large" });
});

// The limit is 1,000,000 bytes, of which 16 KiB are left free.
test.each(["alb", "alb_lists"] as const)(
  "a response near 1 MB or over it to a load balancer, %s, is 413",
  async (source) => {
    const [allowed, tooLarge] = await Promise.all(
      [950_000, 990_000].map((length) => resultOf(() => new Response("a".repeat(length)), source)),
    );
    expect(allowed!.statusCode).toBe(200);
    expect(tooLarge!.statusCode).toBe(413);
    expect(JSON.parse(tooLarge!.body)).toMatchObject({
      code: "payload_too_large",
      error: expect.stringContaining("1 MB"),
    });
  },
);

test("an exception is 500 without its message, which is logged with Lambda's request id", async () => {
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
  let openCount = 0;
  const open: LambdaHandlerOptions["open"] = async () => {
    if (openCount++ === 0) throw new StoreBusy("table");
    return async () => new Response("ok");
  };
  const handler = lambdaHandler({ open, log: createRecordingLog() });
  const event = await makeEvent(new Request("https://api.example/x"));
  const first = await handler(event, context());
  expect(first).toMatchObject({ statusCode: 503, headers: { "retry-after": "1" } });
  expect(JSON.parse(first.body)).toMatchObject({ code: "store_busy", request_id: first.headers!["x-request-id"] });
  expect(await handler(event, context())).toMatchObject({ statusCode: 200, body: "ok" });
});

test("a service that cannot be opened is 503 cannot_start; only errors of settings are shown", async () => {
  const event = await makeEvent(new Request("https://api.example/x"));
  const invokeFailing = async (cause: Error) => {
    const log = createRecordingLog();
    const result = await lambdaHandler({ open: () => Promise.reject(cause), log })(event, context());
    expect(result).toMatchObject({ statusCode: 503, headers: { "retry-after": expect.stringMatching(/^\d+$/) } });
    expect(log.lines).toEqual([expect.stringContaining(cause.message)]);
    return JSON.parse(result.body);
  };
  expect(await invokeFailing(new SettingInvalid("SVC_PROTECT_ALL must be 1 or 0"))).toMatchObject({
    code: "cannot_start",
    status: 503,
    error: "the service cannot start: SVC_PROTECT_ALL must be 1 or 0",
  });
  const { code, error } = await invokeFailing(new Error("at /var/task secret"));
  expect({ code, error }).toEqual({
    code: "cannot_start",
    error: "the service cannot start: the service's log has the cause",
  });
});

test("a malformed event is answered with 400 as JSON, also without a context", async () => {
  const handler = lambdaHandler({ open: () => Promise.reject(new Error("not opened")), log: createRecordingLog() });
  for (const event of [null, undefined, {}, { version: "2.0", requestContext: { http: {} } }]) {
    const result = await handler(event, undefined as never);
    expect(result).toMatchObject({ statusCode: 400, headers: { "content-type": "application/json" } });
    expect(JSON.parse(result.body)).toMatchObject({ code: "invalid_field", status: 400 });
  }
});

test("a load balancer gets multi-value headers also when the service cannot be opened", async () => {
  const open = () => Promise.reject(new SettingInvalid("SVC_PROTECT_ALL must be 1 or 0"));
  const event = await makeEvent(new Request("https://api.example/livez"), "alb_lists");
  const result = await lambdaHandler({ open, log: createRecordingLog() })(event, context());
  expect(result).toMatchObject({ statusCode: 503, multiValueHeaders: { "content-type": ["application/json"] } });
  expect(result).not.toHaveProperty("headers");
});

test.each([
  ["a queue", { Records: [{ eventSource: "aws:sqs" }] }],
  ["a schedule", { source: "aws.events", "detail-type": "Scheduled Event" }],
])("an event of %s is not reported as processed", async (_, event) => {
  const handler = lambdaHandler({ open: async () => async () => new Response("ok"), log: createRecordingLog() });
  await expect(handler(event, context())).rejects.toThrow("this function answers HTTP requests");
});

test("the request id of a response is Lambda's, unless the client sent one", async () => {
  const open: LambdaHandlerOptions["open"] = async () => async (request) =>
    new Response(request.headers.get("x-request-id"));
  const handler = lambdaHandler({ open, log: createRecordingLog() });
  const invocation = context();
  expect((await handler(await makeEvent(new Request("https://api.example/x")), invocation)).body).toBe(
    invocation.awsRequestId,
  );
  const withRequestId = new Request("https://api.example/x", { headers: { "x-request-id": "from-client" } });
  expect((await handler(await makeEvent(withRequestId), invocation)).body).toBe("from-client");
});
