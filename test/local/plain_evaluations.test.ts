/** Verifies that the fast path for plain evaluations sends the same bytes as their handlers. */
import net from "node:net";
import { gzipSync } from "node:zlib";
import { FastResponse } from "srvx/node";
import { afterEach, expect, test } from "vitest";
import { app } from "../../handlers/index.ts";
import { createHostGuard } from "../../lib/http/host_guard.ts";
import { processMetrics } from "../../local/metrics.ts";
import { LIMITS, serveHttp, type HttpServer } from "../../local/node_http.ts";
import { plainEvaluations } from "../../local/plain_evaluations.ts";
import type { TestOptions } from "../support/deps.ts";
import { service, type TestService } from "../support/service.ts";
import { sendRaw } from "./http_client.ts";

const running: HttpServer[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

const FLAGS = "/ofrep/v1/evaluate/flags";
const BODY = '{"context":{"targetingKey":"t1","userId":"ana"}}';
const SPLIT_VALUE = { $split: { unit: "userId", shares: [["on", true, 5000], ["off", false, 5000]] } }; // prettier-ignore

/**
 * Returns the bytes of a request: a POST unless `path` begins with a method. `connection: close` ends the connection after the
 * response.
 */
function makeRawRequest(
  path: string,
  body: string | Buffer = BODY,
  headers: readonly string[] = [],
  connectionHeader = "connection: close",
) {
  const length = headers.some((header) => /^transfer-encoding/i.test(header)) ? [] : [`content-length: ${body.length}`];
  const lines = [
    "host: 127.0.0.1",
    "content-type: application/json",
    ...length,
    ...headers,
    ...(connectionHeader ? [connectionHeader] : []),
  ];
  const method = path.startsWith("/") ? "POST " : "";
  return Buffer.concat([Buffer.from(`${method}${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`), Buffer.from(body)]);
}

async function openService(settings: TestOptions = {}) {
  const api = await service();
  for (const [target, value] of Object.entries({ a: "x", b: SPLIT_VALUE, "c/d": 3, long: "y".repeat(9000) }))
    await api.bring("applied", { tenant_id: "t1", target, value: JSON.stringify(value) });
  Object.assign(api.deps, settings);
  return api;
}

/** Serves with and without the fast path; `fastPath.count` is the number of requests that the fast path answered. */
async function serveBoth({ deps }: TestService) {
  const fastPath = { count: 0 };
  const serve = async (withFastPath: boolean) => {
    const metrics = processMetrics("1");
    // Both servers share `deps`; each app keeps the `measure` with which it was created.
    const served = Object.assign(deps, { Response: FastResponse, measure: metrics.measured });
    const evaluations = plainEvaluations(served, metrics.observe);
    const counting: typeof evaluations = {
      ...evaluations,
      answer: (req) => evaluations.answer(req)?.then((answered) => ((fastPath.count += answered ? 1 : 0), answered)),
    };
    // The longest timeout that Node allows: a stop waits for the requests under way.
    const limits = { ...LIMITS, stopTimeout: 2 ** 31 - 1 };
    const options = { host: "127.0.0.1", port: 0, deps: served, limits, ...(withFastPath && { plain: counting }) };
    const server = await serveHttp(createHostGuard(served)(app(served)), options);
    running.push(server);
    const counts = async () => (await metrics.text()).split("\n").filter((line) => /requests_total\{/.test(line));
    return { url: server.url, counts };
  };
  return { fastPath, fastServer: await serve(true), handlerServer: await serve(false) };
}

/** Removes the parts of a response that differ between any two. */
const removeVariableParts = (answer: string) =>
  answer.replace(/(x-request-id: |"request_id":")[\w-]+/gi, "$1").replace(/date: .*/gi, "date");

/** Returns the three digits of the status in the first line, `HTTP/1.1 200 OK`. */
const readStatus = (response: string) => response.slice(9, 12);
const chunked = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
const CASES: [name: string, bytes: Buffer, answeredByFastPath: number][] = [
  ["one flag", makeRawRequest(`${FLAGS}/a`), 1],
  ["a flag with slashes", makeRawRequest(`${FLAGS}/c/d`), 1],
  ["all flags", makeRawRequest(FLAGS), 1],
  ["an unknown flag", makeRawRequest(`${FLAGS}/none`), 1],
  ["a body over several lines", makeRawRequest(`${FLAGS}/b`, BODY.replace(",", ",\r\n\t ")), 1],
  ["a long answer, compressed", makeRawRequest(FLAGS, BODY, ["accept-encoding: gzip"]), 1],
  ["a second content type", makeRawRequest(FLAGS, BODY, ["content-type: text/plain"]), 1],
  ["header names in capitals", makeRawRequest(FLAGS, BODY, ["USER-AGENT: curl", "Accept: */*"]), 1],
  ["an empty context", makeRawRequest(`${FLAGS}/b`, '{"context":{}}'), 1],
  [
    "several requests on a connection",
    Buffer.concat([
      makeRawRequest(FLAGS, BODY, [], ""),
      makeRawRequest(`${FLAGS}/a`, BODY, [], ""),
      makeRawRequest(FLAGS),
    ]),
    3,
  ],
  ["no context", makeRawRequest(FLAGS, "{}"), 0],
  ["no body", makeRawRequest(FLAGS, ""), 0],
  ["no JSON", makeRawRequest(FLAGS, "{"), 0],
  ["a list", makeRawRequest(FLAGS, "[1]"), 0],
  ["a context that is a list", makeRawRequest(FLAGS, '{"context":[]}'), 0],
  ["a context that is null", makeRawRequest(FLAGS, '{"context":null}'), 0],
  ["a targeting key that is a number", makeRawRequest(FLAGS, '{"context":{"targetingKey":1}}'), 0],
  ["a targeting key that is null", makeRawRequest(FLAGS, '{"context":{"targetingKey":null}}'), 0],
  ["a key in the body", makeRawRequest(`${FLAGS}/a`, '{"key":"b","context":{}}'), 0],
  ["further fields", makeRawRequest(FLAGS, '{"context":{},"more":1}'), 0],
  ["a member twice", makeRawRequest(FLAGS, '{"context":{"userId":"a","userId":"b"}}'), 0],
  ["the context twice", makeRawRequest(FLAGS, '{"context":{},"context":{}}'), 0],
  ["a number out of range", makeRawRequest(FLAGS, '{"context":{"userId":1e999}}'), 0],
  ["a byte order mark", makeRawRequest(FLAGS, Buffer.from(`\uFEFF${BODY}`)), 0],
  ["text that is not ASCII", makeRawRequest(`${FLAGS}/b`, Buffer.from(BODY.replace("ana", "zoë"))), 0],
  [
    "broken UTF-8",
    makeRawRequest(FLAGS, Buffer.from([...Buffer.from('{"context":{"a":"'), 0xff, 0x22, 0x7d, 0x7d])),
    0,
  ],
  ["an escape", makeRawRequest(`${FLAGS}/b`, BODY.replace("ana", "\\u0061na")), 0],
  ["a member __proto__", makeRawRequest(`${FLAGS}/b`, BODY.replace("userId", "__proto__")), 0],
  ["a body over its limit", makeRawRequest(FLAGS, `{"context":{"a":"${"x".repeat(70_000)}"}}`), 0],
  ["a body over the limit of all endpoints", makeRawRequest(FLAGS, `{"context":{"a":"${"x".repeat(1_100_000)}"}}`), 0],
  [
    "a body over the fast path's limit",
    makeRawRequest(`${FLAGS}/a`, `{"context":{"targetingKey":"t1","a":"${"x".repeat(9000)}"}}`),
    0,
  ],
  ["a chunked body", makeRawRequest(FLAGS, chunked(BODY), ["transfer-encoding: chunked"]), 0],
  ["a compressed body", makeRawRequest(FLAGS, gzipSync(BODY), ["content-encoding: gzip"]), 0],
  ["a query", makeRawRequest(`${FLAGS}?a=b`), 0],
  ["a slash at the end", makeRawRequest(`${FLAGS}/`), 0],
  ["an empty segment", makeRawRequest(`${FLAGS}//a`), 0],
  ["an encoded key", makeRawRequest(`${FLAGS}/c%2Fd`), 0],
  ["a longer path", makeRawRequest(`${FLAGS}s`), 0],
  ["HEAD", makeRawRequest(`HEAD ${FLAGS}/a`), 0],
  ["OPTIONS", makeRawRequest(`OPTIONS ${FLAGS}/a`), 0],
  ["another host", Buffer.from(makeRawRequest(FLAGS).toString().replace("host: 127.0.0.1", "host: evil.example")), 0],
  ["two hosts", makeRawRequest(FLAGS, BODY, ["host: evil.example"]), 0],
  ["a page of another site", makeRawRequest(FLAGS, BODY, ["origin: http://evil.example"]), 0],
  ["a request id", makeRawRequest(`${FLAGS}/a`, BODY, ["x-request-id: mine"]), 0],
  ["a traceparent", makeRawRequest(`${FLAGS}/a`, BODY, [`traceparent: 00-${"a".repeat(32)}-${"b".repeat(16)}-01`]), 0],
  ["an etag", makeRawRequest(FLAGS, BODY, ['if-none-match: "a"']), 0],
  ["a wrong token", makeRawRequest(FLAGS, BODY, ["x-svc-admin-token: guess"]), 0],
  ["an expectation", makeRawRequest(FLAGS, BODY, ["expect: 100-continue"]), 0],
];

test("each request has the same response and count with and without the fast path", async () => {
  const { fastPath, fastServer, handlerServer } = await serveBoth(await openService({ adminToken: "secret" }));
  // The first requests are answered by the handlers, which load the rules.
  for (const path of [FLAGS, `${FLAGS}/a`])
    for (const { url } of [fastServer, handlerServer]) await sendRaw(url, makeRawRequest(path));
  expect(fastPath.count).toBe(0);
  for (const [name, bytes, expected] of CASES) {
    const before = fastPath.count;
    const [fastResponse, handlerResponse] = [
      await sendRaw(fastServer.url, bytes),
      await sendRaw(handlerServer.url, bytes),
    ];
    expect([name, removeVariableParts(fastResponse)]).toEqual([name, removeVariableParts(handlerResponse)]);
    expect([name, fastPath.count - before]).toEqual([name, expected]);
  }
  expect(await fastServer.counts()).toEqual(await handlerServer.counts());
});

test("a client that disconnects before its complete body gets the same response", async () => {
  const { fastServer, handlerServer } = await serveBoth(await openService());
  const disconnectEarly = ({ url }: { url: string }) =>
    new Promise<string>((resolve) => {
      let text = "";
      const socket = net.connect(Number(new URL(url).port), "127.0.0.1", () => {
        // Nine bytes of the body are missing.
        socket.end(makeRawRequest(FLAGS).subarray(0, -9));
      });
      socket.on("data", (piece) => (text += piece));
      socket.on("close", () => resolve(removeVariableParts(text)));
    });
  for (const { url } of [fastServer, handlerServer]) await sendRaw(url, makeRawRequest(FLAGS));
  expect(await disconnectEarly(fastServer)).toBe(await disconnectEarly(handlerServer));
});

test.each<[string, TestOptions, string]>([
  ["protected reads", { protectReads: true, readToken: "r" }, "authorization: Bearer r"],
  ["a proxy that names people", { identityHeader: "accept-language" }, "accept: */*"],
])("with %s every request is left to its handler", async (_, options, header) => {
  const { fastPath, fastServer } = await serveBoth(await openService({ adminToken: "secret", ...options }));
  const answers = [];
  // After an answer with 200 the fast path would answer plain requests if access did not depend on headers.
  for (const headers of [[header], [], []])
    answers.push(readStatus(await sendRaw(fastServer.url, makeRawRequest(FLAGS, BODY, headers))));
  expect([answers, fastPath.count]).toEqual([["200", ...(options.protectReads ? ["401", "401"] : ["200", "200"])], 0]);
});

test("changed rules are read again, and the handler reports an error of the store", async () => {
  const api = await openService();
  const { fastPath, fastServer, handlerServer } = await serveBoth(api);
  const send = async () => readStatus(await sendRaw(fastServer.url, makeRawRequest(FLAGS)));
  // After each change of the rules, the handler answers one request and loads the rules.
  expect([await send(), await send(), fastPath.count]).toEqual(["200", "200", 1]);
  Object.assign(api.deps, { product: { ...api.deps.product } });
  expect([await send(), fastPath.count, await send(), fastPath.count]).toEqual(["200", 1, "200", 2]);
  Object.assign(api.deps.store, { get: () => Promise.reject(new Error("gone")) });
  const [fastResponse, handlerResponse] = [
    await sendRaw(fastServer.url, makeRawRequest(`${FLAGS}`)),
    await sendRaw(handlerServer.url, makeRawRequest(FLAGS)),
  ];
  expect(removeVariableParts(fastResponse)).toBe(removeVariableParts(handlerResponse));
  expect(readStatus(fastResponse)).toBe("500");
});
