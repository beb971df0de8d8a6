/** Tests the HTTP server on real sockets: invalid requests, limits, idle connections, and how it stops. */
import http from "node:http";
import net from "node:net";
import { once } from "node:events";
import { gunzipSync } from "node:zlib";
import { FastResponse } from "srvx/node";
import { afterEach, describe, expect, test } from "vitest";
import type { Log } from "../../lib/kit/platform.ts";
import type { AppError } from "../../lib/kit/errors.ts";
import { BODY_LIMIT, readBody } from "../../lib/http/body.ts";
import { LIMITS, serveHttp, type HttpLimits, type HttpServer } from "../../local/node_http.ts";
import { parseRaw, sendRaw } from "./http_client.ts";

/** A stop timeout that no test reaches. */
const NEVER = 2 ** 31 - 1;

const running: HttpServer[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

const logged: [string, Record<string, unknown> | undefined][] = [];
const recordLine = (message: string, fields?: Record<string, unknown>) => void logged.push([message, fields]);
const log: Log = { info: recordLine, warn: recordLine, error: recordLine };

async function serve(
  fetch: (request: Request) => Response | Promise<Response>,
  limits: Partial<HttpLimits> = {},
  host = "127.0.0.1",
) {
  logged.length = 0;
  const deps = { log, clock: { now: () => 0 }, ids: { uuid: () => "request-1" } };
  const server = await serveHttp(fetch, { host, port: 0, deps, limits: { ...LIMITS, stopTimeout: NEVER, ...limits } });
  running.push(server);
  return server;
}

const echo = async (request: Request) => new Response(`${request.method} ${request.url} ${await request.text()}`);
const errorResponse = (status: number, code: string) => ({
  status,
  headers: { "content-type": "application/json", "x-content-type-options": "nosniff", connection: "close" },
  body: { error: expect.stringMatching(/\w/), code, status, request_id: "request-1" },
});

test("the handler gets the request, and the client gets the response", async () => {
  const { url } = await serve(echo);
  const response = await fetch(`${url}/a?b=c`, { method: "POST", body: "d=e" });
  expect([response.status, await response.text()]).toEqual([200, `POST ${url}/a?b=c d=e`]);
});

test.each([
  ["gzip, br", "gzip", 'W/"3"'],
  ["br, gzip;q=0", undefined, '"3"'],
  [undefined, undefined, '"3"'],
])("a long response to a client that accepts %s is sent as %s", async (accepted, encoding, etag) => {
  const text = JSON.stringify("é".repeat(9000));
  const { url } = await serve(() => new FastResponse(text, { headers: { etag: '"3"' } }));
  const headers = accepted === undefined ? {} : { "accept-encoding": accepted };
  const [response] = (await once(http.get(url, { headers }), "response")) as [http.IncomingMessage];
  const body = Buffer.concat(await response.toArray());
  expect([response.headers["content-encoding"], response.headers.etag]).toEqual([encoding, etag]);
  expect(Number(response.headers["content-length"] ?? body.length)).toBe(body.length);
  expect((encoding ? gunzipSync(body) : body).toString()).toBe(text);
});

describe("a FastResponse is sent unchanged", () => {
  const stream = () => new Blob(["streamed"]).stream();
  test.each([
    ["ASCII", () => new FastResponse("plain"), "plain"],
    ["characters of one byte in memory and two in UTF-8", () => new FastResponse("naïve"), "naïve"],
    ["characters of more bytes", () => new FastResponse("改变 🙂"), "改变 🙂"],
    ["bytes", () => new FastResponse(new TextEncoder().encode("é")), "é"],
    ["a stream", () => new FastResponse(stream()), "streamed"],
    ["nothing", () => new FastResponse(null), ""],
  ])("%s", async (_, response, text) => {
    const server = await serve(response);
    const answer = await fetch(server.url);
    expect(await answer.text()).toBe(text);
  });

  test("with headers that were set after its creation", async () => {
    const server = await serve(async () => {
      const response = new FastResponse("plain", { status: 201, headers: { "x-first": "1" } });
      response.headers.set("x-second", "2");
      return response;
    });
    const answer = await fetch(server.url);
    expect([answer.status, answer.headers.get("x-first"), answer.headers.get("x-second")]).toEqual([201, "1", "2"]);
    expect([answer.headers.get("content-length"), await answer.text()]).toEqual(["5", "plain"]);
  });
});

test("the url of an IPv6 address has brackets", async () => {
  const { url } = await serve(echo, {}, "::1");
  expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
  expect((await fetch(`${url}/x`)).status).toBe(200);
});

test("a start on a port in use fails", async () => {
  const { url } = await serve(echo);
  const deps = { log, clock: { now: () => 0 }, ids: { uuid: () => "" } };
  await expect(serveHttp(echo, { host: "127.0.0.1", port: Number(new URL(url).port), deps })).rejects.toMatchObject({
    code: "EADDRINUSE",
  });
});

describe("an invalid request gets a JSON error, and its connection is closed", () => {
  const get = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  test.each([
    ["bytes that are not HTTP", "hello\r\n\r\n", 400, "bad_request"],
    ["TLS on a plain port", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "bad_request"],
    ["a broken header", `${get}no colon\r\n\r\n`, 400, "bad_request"],
    ["no Host", "GET / HTTP/1.1\r\n\r\n", 400, "bad_request"],
    ["a target without a slash", "GET ftp://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "bad_request"],
    ["a target of another host than Host", "GET http://b/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "bad_request"],
    [
      "a chunk without a size",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      400,
      "bad_request",
    ],
    [
      "two lengths",
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
      400,
      "bad_request",
    ],
    ["headers over 16 KiB", `${get}x: ${"a".repeat(16 * 1024)}\r\n\r\n`, 431, "headers_too_large"],
  ])("%s", async (_, data, status, code) => {
    const { url } = await serve(echo);
    expect(parseRaw(await sendRaw(url, data))).toMatchObject(errorResponse(status, code));
    expect(logged).toEqual([]);
  });

  test.each(["/x/../api/log", "/x/%2e%2E/api/log", "/api/./log", "/x\\..\\api", "/..?a", "http://localhost/a/.."])(
    "the path %s, which a URL parser would rewrite",
    async (target) => {
      const { url } = await serve(echo);
      const answer = await sendRaw(url, `GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      expect(parseRaw(answer)).toMatchObject(errorResponse(400, "bad_request"));
    },
  );

  test("but dots that are not a whole segment of the path are accepted", async () => {
    const { url } = await serve(echo);
    for (const target of ["/a..b/.c/...?x=/../y", "/?\\.."])
      expect(await sendRaw(url, `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)).toMatch(
        /^HTTP\/1.1 200 /,
      );
  });

  test("headers far over the limit that are still being sent", async () => {
    const { url } = await serve(echo);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => sendRaw(url, `${get}x: ${"a".repeat(2_000_000)}\r\n\r\n`)),
    );
    for (const answer of answers) expect(parseRaw(answer).status).toBe(431);
  });

  test("after which the client may finish sending, so that no reset discards the response", async () => {
    const { url } = await serve(echo);
    const socket = net.connect({ port: Number(new URL(url).port), host: "127.0.0.1", allowHalfOpen: true });
    const answered = once(socket.resume(), "end");
    socket.write(`${get}x: ${"a".repeat(20_000)}`);
    await answered;
    const writeError = new Promise((resolve) =>
      socket.on("error", resolve).write(Buffer.alloc(8_000_000, "a"), resolve),
    );
    expect(await writeError).toBeFalsy();
    socket.destroy();
  });

  test("but headers just under 16 KiB are accepted", async () => {
    const { url } = await serve(echo);
    expect(await sendRaw(url, `${get}Connection: close\r\nx: ${"a".repeat(15 * 1024)}\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 200/,
    );
  });

  test("headers that stop arriving", async () => {
    const { url } = await serve(echo, { headersTimeout: 40, checkInterval: 10 });
    expect(parseRaw(await sendRaw(url, `${get}x: `))).toMatchObject(errorResponse(408, "request_timeout"));
  });

  test("a body that stops arriving", async () => {
    const { url } = await serve(echo, { headersTimeout: 40, requestTimeout: 60, checkInterval: 10 });
    const answer = await sendRaw(url, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nab");
    expect(parseRaw(answer)).toMatchObject(errorResponse(408, "request_timeout"));
    expect(logged).toEqual([]);
  });
});

describe("an idle connection", () => {
  test("is open while the handler works, and closed if the response then stalls", async () => {
    const idleTimeout = 500;
    const slow = async (request: Request) => {
      const text = await request.text();
      await new Promise((then) => setTimeout(then, idleTimeout * 2.5));
      return new Response(text === "never" ? new ReadableStream({}) : `slow ${text}`);
    };
    const { url } = await serve(slow, { idleTimeout });
    const ask = (body: string) => fetch(url, { method: "POST", body });
    const [response] = await Promise.all([ask("x"), expect(ask("never")).rejects.toThrow()]);
    expect([response.status, await response.text()]).toEqual([200, "slow x"]);
  });

  test("is closed if no request arrives, or the response is not read", async () => {
    let markEntered!: () => void;
    const handlerEntered = new Promise<void>((resolve) => (markEntered = resolve));
    const answer = () => {
      markEntered();
      return new Response("x".repeat(64 * 1024 * 1024));
    };
    const server = await serve(answer, { idleTimeout: 500 });
    const { port } = new URL(server.url);
    const unread = net.connect(Number(port), "127.0.0.1");
    unread.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await handlerEntered;
    const silent = net.connect(Number(port), "127.0.0.1").resume();
    await once(silent, "close");
    // A stop waits for open responses without a limit.
    await server.stop();
    unread.destroy();
  });
});

test("a target in absolute form with the same host is read as its path", async () => {
  const { url } = await serve(echo);
  const request = "GET http://LOCALHOST:80/a?b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  expect(await sendRaw(url, request)).toContain("GET http://localhost/a?b");
});

test("garbage after a complete request is not answered before that request", async () => {
  let answer!: (response: Response) => void;
  const { url } = await serve(() => new Promise((resolve) => (answer = resolve)));
  const raw = await sendRaw(url, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGARBAGE\r\n\r\n");
  answer(new Response("late"));
  expect(raw).toBe("");
});

test("an error in a handler is a 500 without details, and the log has the details", async () => {
  const { url } = await serve(() => Promise.reject(new Error("secret detail")));
  const response = await fetch(`${url}/boom?token=t`);
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({
    error: expect.stringContaining("internal error"),
    code: "internal",
    status: 500,
    request_id: "request-1",
  });
  expect(logged).toEqual([
    [
      "request failed outside its handler",
      { request_id: "request-1", path: "/boom", error: expect.objectContaining({ message: "secret detail" }) },
    ],
  ]);
});

test("an error thrown synchronously by a handler is a 500 too", async () => {
  const { url } = await serve(() => {
    throw new Error("immediately");
  });
  expect((await fetch(url)).status).toBe(500);
});

test("a client that disconnects before its body has arrived is not logged as an error", async () => {
  let markEntered!: () => void;
  const handlerEntered = new Promise<void>((resolve) => (markEntered = resolve));
  const server = await serve(async (request) => {
    markEntered();
    return new Response(await request.text());
  });
  const client = http.request(server.url, { method: "POST", headers: { "content-length": 9 } });
  const disconnected = once(client, "error");
  client.write("ab");
  await handlerEntered;
  client.destroy();
  await disconnected;
  await server.stop();
  expect(logged).toEqual([]);
});

test("a response that cannot be sent ends the connection and is logged", async () => {
  const used = new Response("x");
  await used.text();
  const { url } = await serve(() => used);
  await expect(fetch(url)).rejects.toThrow();
  expect(logged).toHaveLength(1);
});

test("a body is never read beyond the server's limit, with or without Content-Length", async () => {
  let outcome: unknown;
  const { url } = await serve(
    async (request) => {
      outcome = await request.text().then(
        (text) => text.length,
        (error: Error) => error.name,
      );
      return new Response("read");
    },
    { maxBodySize: 1000 },
  );
  const send = async (size: number, chunked: boolean) => {
    const request = http.request(url, { method: "POST", headers: chunked ? {} : { "content-length": size } });
    request.write("x".repeat(size));
    request.end();
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    response.resume();
    await once(response, "end");
    return outcome;
  };
  expect([await send(1000, false), await send(1000, true)]).toEqual([1000, 1000]);
  expect(await send(1001, false)).not.toBe(1001);
  expect(await send(1001, true)).not.toBe(1001);
});

test("a connection is reused for the next request", async () => {
  const { url } = await serve(echo);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const ports: (number | undefined)[] = [];
  for (let i = 0; i < 2; i++) {
    const request = http.get(url, { agent });
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    ports.push(request.socket?.localPort);
    response.resume();
    await once(response, "end");
  }
  agent.destroy();
  expect(ports[0]).toBe(ports[1]);
});

test.each([BODY_LIMIT + 1, 8 * BODY_LIMIT])(
  "a connection is reused after a streamed body of %i bytes was rejected",
  async (size) => {
    const { url } = await serve(async (request) => {
      const rejectedStatus = await readBody(request).then(
        () => undefined,
        (error: AppError) => error.status,
      );
      return new Response(null, { status: rejectedStatus ?? 200 });
    });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const send = async (body: string) => {
      const request = http.request(url, { method: "POST", agent });
      for (let at = 0; at < body.length; at += 8192) request.write(body.slice(at, at + 8192));
      request.end();
      const [response] = (await once(request, "response")) as [http.IncomingMessage];
      response.resume();
      await once(response, "end");
      return response.statusCode;
    };
    expect([await send("x".repeat(size)), await send("x")]).toEqual([413, 200]);
    agent.destroy();
  },
);

describe("stopping", () => {
  test("finishes open requests, rejects new ones, and does not wait for idle connections", async () => {
    let markEntered!: () => void;
    const handlerEntered = new Promise<void>((resolve) => (markEntered = resolve));
    let finish!: () => void;
    const server = await serve(async (request) => {
      if (request.url.endsWith("/slow")) {
        markEntered();
        await new Promise<void>((resolve) => (finish = resolve));
      }
      return new Response("done");
    });
    const { port } = new URL(server.url);
    const untouched = net.connect(Number(port), "127.0.0.1");
    await once(untouched, "connect");
    await (await fetch(`${server.url}/kept-alive`)).text();
    const slow = fetch(`${server.url}/slow`);
    await handlerEntered;

    const stopped = server.stop();
    await expect(fetch(server.url)).rejects.toThrow();
    const closed = Promise.all([once(untouched, "close"), stopped]);
    finish();
    const response = await slow;
    expect([response.headers.get("connection"), await response.text()]).toEqual(["close", "done"]);
    await closed;
  });

  test("waits until a long buffered response is read to its end", async () => {
    const size = 16 << 20;
    const server = await serve(() => new FastResponse("x".repeat(size)));
    const [response] = (await once(http.get(server.url), "response")) as [http.IncomingMessage];
    const stopped = server.stop();
    await new Promise((resolve) => setImmediate(resolve));
    let read = 0;
    for await (const piece of response) read += (piece as Buffer).length;
    expect(read).toBe(size);
    await stopped;
  });

  test("waits until a long streamed response is read to its end", async () => {
    const size = 8_000_000;
    let markSent!: () => void;
    const streamed = new Promise<void>((resolve) => (markSent = resolve));
    const server = await serve(() => {
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new Uint8Array(size));
          controller.close();
          setImmediate(markSent);
        },
      });
      return new Response(body, { headers: { "content-length": String(size) } });
    });
    const [response] = (await once(http.get(server.url), "response")) as [http.IncomingMessage];
    await streamed;
    const stopped = server.stop();
    await new Promise((resolve) => setImmediate(resolve));
    let received = 0;
    for await (const piece of response) received += (piece as Buffer).length;
    await stopped;
    expect(received).toBe(size);
  });

  test("waits for a handler whose client has disconnected", async () => {
    let markEntered!: () => void;
    const handlerEntered = new Promise<void>((resolve) => (markEntered = resolve));
    let finish!: () => void;
    let finished = false;
    const server = await serve(async () => {
      markEntered();
      await new Promise<void>((resolve) => (finish = resolve));
      finished = true;
      return new Response("done");
    });
    const client = http.get(server.url);
    const disconnected = once(client, "error");
    await handlerEntered;
    client.destroy();
    await disconnected;
    const stopped = server.stop().then(() => finished);
    setImmediate(() => setImmediate(finish));
    expect(await stopped).toBe(true);
  });

  test("waits no longer than the stop timeout", async () => {
    let markEntered!: () => void;
    const handlerEntered = new Promise<void>((resolve) => (markEntered = resolve));
    const neverAnswer = () => {
      markEntered();
      return new Promise<Response>(() => {});
    };
    const server = await serve(neverAnswer, { stopTimeout: 30 });
    const failure = fetch(server.url).catch((error: Error) => error.name);
    await handlerEntered;
    await server.stop();
    expect(await failure).toBe("TypeError");
  });
});
