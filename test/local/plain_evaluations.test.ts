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
const split = { $split: { unit: "userId", shares: [["on", true, 5000], ["off", false, 5000]] } }; // prettier-ignore

/** Returns the bytes of a request; `connection: close` ends the connection after the response. */
function raw(path: string, body: string | Buffer = BODY, headers: readonly string[] = [], rest = "connection: close") {
  const length = headers.some((one) => /^transfer-encoding/i.test(one)) ? [] : [`content-length: ${body.length}`];
  const lines = ["host: 127.0.0.1", "content-type: application/json", ...length, ...headers, ...(rest ? [rest] : [])];
  const method = path.startsWith("/") ? "POST " : "";
  return Buffer.concat([Buffer.from(`${method}${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`), Buffer.from(body)]);
}

async function open(settings: TestOptions = {}) {
  const api = await service();
  for (const [target, value] of Object.entries({ a: "x", b: split, "c/d": 3, long: "y".repeat(9000) }))
    await api.bring("applied", { tenant_id: "t1", target, value: JSON.stringify(value) });
  Object.assign(api.deps, settings);
  return api;
}

/** Serves with and without the fast path; `taken` counts the requests that it answered. */
async function serveBoth({ deps }: TestService) {
  const taken = { count: 0 };
  const serve = async (isPlain: boolean) => {
    const metrics = processMetrics("1");
    const own = Object.assign(deps, { Response: FastResponse, measure: metrics.measured });
    const plain = plainEvaluations(own, metrics.observe);
    const counting: typeof plain = {
      ...plain,
      answer: (req) => plain.answer(req)?.then((answered) => ((taken.count += answered ? 1 : 0), answered)),
    };
    const limits = { ...LIMITS, stopTimeout: 2 ** 31 - 1 };
    const options = { host: "127.0.0.1", port: 0, deps: own, limits, ...(isPlain && { plain: counting }) };
    const server = await serveHttp(createHostGuard(own)(app(own)), options);
    running.push(server);
    const counts = async () => (await metrics.text()).split("\n").filter((line) => /requests_total\{/.test(line));
    return { url: server.url, counts };
  };
  return { taken, plain: await serve(true), usual: await serve(false) };
}

/** Removes the parts of a response that differ between any two. */
const comparable = (answer: string) =>
  answer
    .replace(/(x-request-id: |"request_id":")[\w-]+/gi, "$1")
    .replace(/date: .*/gi, "date")
    .replace(/[\da-f]{8}-[\da-f-]{27}/g, (id) => id);

const chunked = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
const CASES: [name: string, bytes: Buffer, taken: number][] = [
  ["one flag", raw(`${FLAGS}/a`), 1],
  ["a flag with slashes", raw(`${FLAGS}/c/d`), 1],
  ["all flags", raw(FLAGS), 1],
  ["a flag that is none", raw(`${FLAGS}/none`), 1],
  ["a body over several lines", raw(`${FLAGS}/b`, BODY.replace(",", ",\r\n\t ")), 1],
  ["a long answer, compressed", raw(FLAGS, BODY, ["accept-encoding: gzip"]), 1],
  ["another type", raw(FLAGS, BODY, ["content-type: text/plain"]), 1],
  ["names in capitals", raw(FLAGS, BODY, ["USER-AGENT: curl", "Accept: */*"]), 1],
  ["an empty context", raw(`${FLAGS}/b`, '{"context":{}}'), 1],
  [
    "several on a connection",
    Buffer.concat([raw(FLAGS, BODY, [], ""), raw(`${FLAGS}/a`, BODY, [], ""), raw(FLAGS)]),
    3,
  ],
  ["no context", raw(FLAGS, "{}"), 0],
  ["no body", raw(FLAGS, ""), 0],
  ["no JSON", raw(FLAGS, "{"), 0],
  ["a list", raw(FLAGS, "[1]"), 0],
  ["a context that is a list", raw(FLAGS, '{"context":[]}'), 0],
  ["a context that is null", raw(FLAGS, '{"context":null}'), 0],
  ["a targeting key that is none", raw(FLAGS, '{"context":{"targetingKey":1}}'), 0],
  ["a targeting key that is null", raw(FLAGS, '{"context":{"targetingKey":null}}'), 0],
  ["a key in the body", raw(`${FLAGS}/a`, '{"key":"b","context":{}}'), 0],
  ["further fields", raw(FLAGS, '{"context":{},"more":1}'), 0],
  ["a member twice", raw(FLAGS, '{"context":{"userId":"a","userId":"b"}}'), 0],
  ["the context twice", raw(FLAGS, '{"context":{},"context":{}}'), 0],
  ["a number out of range", raw(FLAGS, '{"context":{"userId":1e999}}'), 0],
  ["a byte order mark", raw(FLAGS, Buffer.from(`\uFEFF${BODY}`)), 0],
  ["text that is not ASCII", raw(`${FLAGS}/b`, Buffer.from(BODY.replace("ana", "zoë"))), 0],
  ["broken UTF-8", raw(FLAGS, Buffer.from([...Buffer.from('{"context":{"a":"'), 0xff, 0x22, 0x7d, 0x7d])), 0],
  ["an escape", raw(`${FLAGS}/b`, BODY.replace("ana", "\\u0061na")), 0],
  ["a member __proto__", raw(`${FLAGS}/b`, BODY.replace("userId", "__proto__")), 0],
  ["a body over its limit", raw(FLAGS, `{"context":{"a":"${"x".repeat(70_000)}"}}`), 0],
  ["a body over that of any", raw(FLAGS, `{"context":{"a":"${"x".repeat(1_100_000)}"}}`), 0],
  ["a longer body than most", raw(`${FLAGS}/a`, `{"context":{"targetingKey":"t1","a":"${"x".repeat(9000)}"}}`), 0],
  ["a chunked body", raw(FLAGS, chunked(BODY), ["transfer-encoding: chunked"]), 0],
  ["a compressed body", raw(FLAGS, gzipSync(BODY), ["content-encoding: gzip"]), 0],
  ["a query", raw(`${FLAGS}?a=b`), 0],
  ["a slash at the end", raw(`${FLAGS}/`), 0],
  ["an empty segment", raw(`${FLAGS}//a`), 0],
  ["an encoded key", raw(`${FLAGS}/c%2Fd`), 0],
  ["a longer path", raw(`${FLAGS}s`), 0],
  ["HEAD", raw(`HEAD ${FLAGS}/a`), 0],
  ["OPTIONS", raw(`OPTIONS ${FLAGS}/a`), 0],
  ["another host", Buffer.from(raw(FLAGS).toString().replace("host: 127.0.0.1", "host: evil.example")), 0],
  ["two hosts", raw(FLAGS, BODY, ["host: evil.example"]), 0],
  ["a page of another site", raw(FLAGS, BODY, ["origin: http://evil.example"]), 0],
  ["an id of the request", raw(`${FLAGS}/a`, BODY, ["x-request-id: mine"]), 0],
  ["a trace", raw(`${FLAGS}/a`, BODY, [`traceparent: 00-${"a".repeat(32)}-${"b".repeat(16)}-01`]), 0],
  ["a tag", raw(FLAGS, BODY, ['if-none-match: "a"']), 0],
  ["a wrong token", raw(FLAGS, BODY, ["x-svc-admin-token: guess"]), 0],
  ["an expectation", raw(FLAGS, BODY, ["expect: 100-continue"]), 0],
];

test("each unusual request has the same response and is counted as by the handler", async () => {
  const { taken, plain, usual } = await serveBoth(await open({ adminToken: "secret" }));
  for (const path of [FLAGS, `${FLAGS}/a`]) for (const { url } of [plain, usual]) await sendRaw(url, raw(path));
  expect(taken.count).toBe(0);
  for (const [name, bytes, expected] of CASES) {
    const before = taken.count;
    const [ours, theirs] = [await sendRaw(plain.url, bytes), await sendRaw(usual.url, bytes)];
    expect([name, comparable(ours)]).toEqual([name, comparable(theirs)]);
    expect([name, taken.count - before]).toEqual([name, expected]);
  }
  expect(await plain.counts()).toEqual(await usual.counts());
});

test("a client that disconnects before its body has arrived is released", async () => {
  const { plain, usual } = await serveBoth(await open());
  const leave = ({ url }: { url: string }) =>
    new Promise<string>((resolve) => {
      let text = "";
      const socket = net.connect(Number(new URL(url).port), "127.0.0.1", () => {
        socket.end(raw(FLAGS).subarray(0, -9));
      });
      socket.on("data", (piece) => (text += piece));
      socket.on("close", () => resolve(comparable(text)));
    });
  for (const { url } of [plain, usual]) await sendRaw(url, raw(FLAGS));
  expect(await leave(plain)).toBe(await leave(usual));
});

test.each<[string, TestOptions, string]>([
  ["protected reads", { protectReads: true, readToken: "r" }, "authorization: Bearer r"],
  ["a proxy that names people", { identityHeader: "accept-language" }, "accept: */*"],
])("with %s a request that says nothing is left to its handler", async (_, options, header) => {
  const { taken, plain } = await serveBoth(await open({ adminToken: "secret", ...options }));
  const answers = [];
  for (const more of [[header], [], []]) answers.push((await sendRaw(plain.url, raw(FLAGS, BODY, more))).slice(9, 12));
  expect([answers, taken.count]).toEqual([["200", ...(options.protectReads ? ["401", "401"] : ["200", "200"])], 0]);
});

test("changed rules are read again, and an error of the store is handled by the handler", async () => {
  const api = await open();
  const { taken, plain, usual } = await serveBoth(api);
  const send = async () => (await sendRaw(plain.url, raw(FLAGS))).slice(9, 12);
  expect([await send(), await send(), taken.count]).toEqual(["200", "200", 1]);
  Object.assign(api.deps, { product: { ...api.deps.product } });
  expect([await send(), taken.count, await send(), taken.count]).toEqual(["200", 1, "200", 2]);
  Object.assign(api.deps.store, { get: () => Promise.reject(new Error("gone")) });
  const [ours, theirs] = [await sendRaw(plain.url, raw(`${FLAGS}`)), await sendRaw(usual.url, raw(FLAGS))];
  expect(comparable(ours)).toBe(comparable(theirs));
  expect(ours.slice(9, 12)).toBe("500");
});
